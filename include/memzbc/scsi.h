/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Numbers of SAM-6, SPC-5, SBC-4 and ZBC-2, named after the standards.
 */
#ifndef MEMZBC_SCSI_H
#define MEMZBC_SCSI_H

/* Status codes (SAM) */
#define SAM_STAT_GOOD			0x00
#define SAM_STAT_CHECK_CONDITION	0x02
#define SAM_STAT_BUSY			0x08
#define SAM_STAT_RESERVATION_CONFLICT	0x18
#define SAM_STAT_TASK_SET_FULL		0x28

/* Operation codes */
#define TEST_UNIT_READY			0x00
#define REQUEST_SENSE			0x03
#define READ_6				0x08
#define WRITE_6				0x0a
#define INQUIRY				0x12
#define MODE_SELECT_6			0x15
#define MODE_SENSE_6			0x1a
#define START_STOP_UNIT			0x1b
#define READ_CAPACITY_10		0x25
#define READ_10				0x28
#define WRITE_10			0x2a
#define VERIFY_10			0x2f
#define SYNCHRONIZE_CACHE_10		0x35
#define WRITE_SAME_10			0x41
#define LOG_SENSE			0x4d
#define MODE_SELECT_10			0x55
#define MODE_SENSE_10			0x5a
#define READ_16				0x88
#define WRITE_16			0x8a
#define VERIFY_16			0x8f
#define SYNCHRONIZE_CACHE_16		0x91
#define WRITE_SAME_16			0x93
#define ZBC_OUT				0x94
#define ZBC_IN				0x95
#define SERVICE_ACTION_IN_16		0x9e
#define REPORT_LUNS			0xa0
#define MAINTENANCE_IN			0xa3
#define READ_12				0xa8
#define WRITE_12			0xaa
#define VERIFY_12			0xaf

/* READ and WRITE of 10, 12 and 16 bytes: CDB byte 1 */
#define RW_FUA				0x08
#define RW_DPO_FUA			0x18

/* Service actions, byte 1 bits 4:0 */
#define SERVICE_ACTION_MASK		0x1f
#define SA_CLOSE_ZONE			0x01	/* ZBC OUT */
#define SA_FINISH_ZONE			0x02
#define SA_OPEN_ZONE			0x03
#define SA_RESET_WRITE_POINTER		0x04
#define ZBC_OUT_COUNT_BYTE		12	/* ZONE COUNT */
#define ZBC_OUT_ALL_BYTE		14
#define ZBC_OUT_ALL			0x01
#define SA_REPORT_ZONES			0x00	/* ZBC IN */
#define SA_READ_CAPACITY_16		0x10	/* SERVICE ACTION IN(16) */
#define SA_REPORT_OPCODES		0x0c	/* MAINTENANCE IN */
#define SA_REPORT_TMFS			0x0d

/* Sense keys */
#define NO_SENSE			0x0
#define NOT_READY			0x2
#define MEDIUM_ERROR			0x3
#define HARDWARE_ERROR			0x4
#define ILLEGAL_REQUEST			0x5
#define DATA_PROTECT			0x7
#define ABORTED_COMMAND			0xb
#define MISCOMPARE			0xe
#define SENSE_KEY_MAX			0xf

/* ADDITIONAL SENSE CODE << 8 | ADDITIONAL SENSE CODE QUALIFIER */
#define ASC_NONE			0x0000
#define ASC_BECOMING_READY		0x0401
#define ASC_INITIALIZING_CMD_REQUIRED	0x0402
#define ASC_WRITE_ERROR			0x0c00
#define ASC_UNRECOVERED_READ_ERROR	0x1100
#define ASC_PARAM_LIST_LENGTH		0x1a00
#define ASC_MISCOMPARE_DURING_VERIFY	0x1d00
#define ASC_INVALID_OPCODE		0x2000
#define ASC_LBA_OUT_OF_RANGE		0x2100
#define ASC_UNALIGNED_WRITE		0x2104
#define ASC_WRITE_BOUNDARY		0x2105
#define ASC_READ_INVALID_DATA		0x2106
#define ASC_READ_BOUNDARY		0x2107
#define ASC_GAP_ZONE			0x2109
#define ASC_INVALID_FIELD_IN_CDB	0x2400
#define ASC_LUN_NOT_SUPPORTED		0x2500
#define ASC_INVALID_FIELD_IN_PARAM	0x2600
#define ASC_SOFTWARE_WRITE_PROTECTED	0x2702
#define ASC_SPACE_ALLOCATION_FAILED	0x2707
#define ASC_ZONE_READ_ONLY		0x2708
#define ASC_ZONE_OFFLINE		0x2c0e
#define ASC_SAVING_NOT_SUPPORTED	0x3900
#define ASC_INTERNAL_TARGET_FAILURE	0x4400
#define ASC_CRC_ERROR			0x4703	/* INFORMATION UNIT iuCRC ERROR DETECTED */
#define ASC_INSUFFICIENT_ZONE_RESOURCES	0x550e

/* Sense data formats */
#define SENSE_FIXED_CURRENT		0x70
#define SENSE_DESC_CURRENT		0x72
#define SENSE_FIXED_LEN			18
#define SENSE_DESC_HEADER_LEN		8
#define SENSE_VALID			0x80	/* fixed byte 0, information descriptor byte 2 */
#define SENSE_DESC_INFORMATION		0x00
#define SENSE_DESC_KEY_SPECIFIC		0x02
#define SKS_SKSV			0x80
#define SKS_CD				0x40	/* field is in the CDB */
#define SKS_BPV				0x08

/* CDB of REQUEST SENSE, byte 1 */
#define REQUEST_SENSE_DESC		0x01

/* INQUIRY: CDB byte 1, and standard data */
#define INQUIRY_EVPD			0x01
#define INQUIRY_LEN			96	/* up to and with the VERSION DESCRIPTORs */
#define PDT_ZBC				0x14	/* PERIPHERAL DEVICE TYPE */
#define INQUIRY_VERSION_SPC5		0x07
#define INQUIRY_HISUP			0x10	/* byte 3 */
#define INQUIRY_RESPONSE_FORMAT		0x02	/* byte 3 */
#define INQUIRY_CMDQUE			0x02	/* byte 7 */

/* SELECT REPORT of REPORT LUNS */
#define REPORT_LUNS_WELL_KNOWN		0x01
#define REPORT_LUNS_BOTH		0x02

/* VPD pages */
#define VPD_SUPPORTED_PAGES		0x00
#define VPD_UNIT_SERIAL			0x80
#define VPD_DEVICE_ID			0x83
#define VPD_BLOCK_LIMITS		0xb0
#define VPD_BLOCK_CHARACTERISTICS	0xb1
#define VPD_LB_PROVISIONING		0xb2
#define VPD_ZONED_CHARACTERISTICS	0xb6
#define BLOCK_LIMITS_WSNZ		0x01	/* byte 4 of page B0h */
#define NON_ROTATING_MEDIUM		0x0001	/* MEDIUM ROTATION RATE of page B1h */
#define ZONED_URSWRZ			0x01	/* byte 4 of page B6h */

/* Mode pages and page control */
#define MODE_RW_RECOVERY		0x01
#define MODE_CACHING			0x08
#define MODE_CONTROL			0x0a
#define MODE_INFORMATIONAL_EXCEPTIONS	0x1c
#define MODE_ALL_PAGES			0x3f
#define MODE_ALL_SUBPAGES		0xff
#define MODE_PC_CURRENT			0
#define MODE_PC_CHANGEABLE		1
#define MODE_PC_DEFAULT			2
#define MODE_PC_SAVED			3
#define MODE_SENSE_DBD			0x08	/* CDB byte 1 */
#define MODE_SENSE_LLBAA		0x10
#define MODE_SELECT_SP			0x01	/* CDB byte 1 */
#define MODE_SELECT_PF			0x10
#define MODE_WP				0x80	/* DEVICE-SPECIFIC PARAMETER */
#define MODE_DPOFUA			0x10
#define MODE_LONGLBA			0x01
#define MODE_PS				0x80	/* byte 0 of a page */
#define MODE_SPF			0x40
#define MODE_AWRE			0x80	/* byte 2 of page 01h */
#define MODE_ARRE			0x40
#define MODE_WCE			0x04	/* byte 2 of page 08h */
#define MODE_D_SENSE			0x04	/* byte 2 of page 0Ah */
#define MODE_GLTSD			0x02	/* byte 2 of page 0Ah */
#define MODE_SWP			0x08	/* byte 4 of page 0Ah */
#define MODE_DEXCPT			0x08	/* byte 2 of page 1Ch */

/* Log pages */
#define LOG_SUPPORTED_PAGES		0x00
#define LOG_WRITE_ERRORS		0x02
#define LOG_READ_ERRORS			0x03
#define LOG_VERIFY_ERRORS		0x05
#define LOG_ZONED_STATISTICS		0x14
#define LOG_SUBPAGE_ZONED_STATISTICS	0x01
#define LOG_SUBPAGE_ALL			0xff
#define LOG_SENSE_SP			0x01	/* CDB byte 1 */
#define LOG_SPF				0x40	/* byte 0 of a page */
#define LOG_DATA_COUNTER		0x00	/* FORMAT AND LINKING: bounded */
#define LOG_BINARY_LIST			0x03
#define LOG_PC_CUMULATIVE		1
#define LOG_PC_DEFAULT_CUMULATIVE	3
#define LOG_BYTES_PROCESSED		0x0005	/* parameter codes of the error counter pages */
#define LOG_UNCORRECTED_ERRORS		0x0006

/* REPORT SUPPORTED OPERATION CODES: CDB byte 2, and parameter data */
#define RSOC_RCTD			0x80
#define RSOC_OPTIONS_MASK		0x07
#define RSOC_ALL			0
#define RSOC_OPCODE			1
#define RSOC_SERVICE_ACTION		2
#define RSOC_EITHER			3
#define RSOC_DESC_CTDP			0x02	/* byte 5 of a command descriptor */
#define RSOC_DESC_SERVACTV		0x01
#define RSOC_ONE_CTDP			0x80	/* byte 1 of the one-command format */
#define RSOC_NOT_SUPPORTED		1	/* SUPPORT */
#define RSOC_SUPPORTED			3

/* REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS: CDB byte 2, and parameter data */
#define RSTMF_REPD			0x80
#define RSTMF_ATS			0x80	/* ABORT TASK */
#define RSTMF_LURS			0x08	/* LOGICAL UNIT RESET */

/* READ CAPACITY(16) byte 12: RETURNED LBA is the last one of the unit, RC BASIS 01b */
#define RC_BASIS_LAST_LBA		0x10

/* ZONE TYPE */
#define ZONE_TYPE_CONVENTIONAL		0x1
#define ZONE_TYPE_SWR			0x2	/* SEQUENTIAL WRITE REQUIRED */
#define ZONE_TYPE_GAP			0x5

/* ZONE CONDITION */
#define ZONE_NOT_WP			0x0	/* NOT WRITE POINTER */
#define ZONE_EMPTY			0x1
#define ZONE_IMP_OPEN			0x2	/* IMPLICITLY OPENED */
#define ZONE_EXP_OPEN			0x3	/* EXPLICITLY OPENED */
#define ZONE_CLOSED			0x4
#define ZONE_READ_ONLY			0xd
#define ZONE_FULL			0xe
#define ZONE_OFFLINE			0xf

/* WRITE POINTER LBA of a zone that has none */
#define NO_WRITE_POINTER		UINT64_MAX

/* MAXIMUM NUMBER OF OPEN SEQUENTIAL WRITE REQUIRED ZONES: no limit */
#define OPEN_ZONES_NO_LIMIT		UINT32_MAX

/* ZONE ALIGNMENT METHOD */
#define ZONE_ALIGN_CONSTANT_LENGTH	1
#define ZONE_ALIGN_CONSTANT_START	8

/* REPORT ZONES, REPORTING OPTIONS */
#define REPORT_ALL			0x00
#define REPORT_EMPTY			0x01
#define REPORT_IMP_OPEN			0x02
#define REPORT_EXP_OPEN			0x03
#define REPORT_CLOSED			0x04
#define REPORT_FULL			0x05
#define REPORT_READ_ONLY		0x06
#define REPORT_OFFLINE			0x07
#define REPORT_INACTIVE			0x08
#define REPORT_RESET_RECOMMENDED	0x10
#define REPORT_NON_SEQ			0x11
#define REPORT_ALL_BUT_GAP		0x3e
#define REPORT_NOT_WP			0x3f
#define REPORT_PARTIAL			0x80	/* CDB byte 14 */
#define ZONE_DESC_LEN			64	/* the header is as long */

#endif
