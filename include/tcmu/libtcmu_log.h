/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * tcmu-runner's log. Messages end with a newline and are cut at 254 bytes,
 * the text that the daemon puts before them included. @dev may be NULL.
 * See libtcmu_common.h for why these declarations exist.
 */
#ifndef TCMU_LIBTCMU_LOG_H
#define TCMU_LIBTCMU_LOG_H

struct tcmu_device;

__attribute__((format(printf, 4, 5)))
void tcmu_err_message(struct tcmu_device *dev, const char *funcname, int linenr,
		      const char *fmt, ...);
__attribute__((format(printf, 4, 5)))
void tcmu_warn_message(struct tcmu_device *dev, const char *funcname, int linenr,
		       const char *fmt, ...);
__attribute__((format(printf, 4, 5)))
void tcmu_info_message(struct tcmu_device *dev, const char *funcname, int linenr,
		       const char *fmt, ...);
__attribute__((format(printf, 4, 5)))
void tcmu_dbg_message(struct tcmu_device *dev, const char *funcname, int linenr,
		      const char *fmt, ...);

#define tcmu_dev_err(dev, ...) tcmu_err_message(dev, __func__, __LINE__, __VA_ARGS__)
#define tcmu_dev_warn(dev, ...) tcmu_warn_message(dev, __func__, __LINE__, __VA_ARGS__)
#define tcmu_dev_info(dev, ...) tcmu_info_message(dev, __func__, __LINE__, __VA_ARGS__)
#define tcmu_dev_dbg(dev, ...) tcmu_dbg_message(dev, __func__, __LINE__, __VA_ARGS__)
#define tcmu_err(...) tcmu_err_message(NULL, __func__, __LINE__, __VA_ARGS__)
#define tcmu_warn(...) tcmu_warn_message(NULL, __func__, __LINE__, __VA_ARGS__)
#define tcmu_info(...) tcmu_info_message(NULL, __func__, __LINE__, __VA_ARGS__)
#define tcmu_dbg(...) tcmu_dbg_message(NULL, __func__, __LINE__, __VA_ARGS__)

#endif
