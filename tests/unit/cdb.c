// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* CDB builders */
#include "harness.h"

size_t cdb_len(uint8_t opcode)
{
	static const uint8_t by_group[8] = { 6, 10, 10, 32, 16, 12, 10, 10 };

	return by_group[opcode >> 5];
}

struct cdb cdb_lba(uint8_t opcode, uint64_t lba, uint64_t blocks)
{
	struct cdb cdb = { .b = { opcode } };

	switch (cdb_len(opcode)) {
	case 6:
		put_be24(cdb.b + 1, (uint32_t)lba);
		cdb.b[4] = (uint8_t)blocks;
		break;
	case 10:
		put_be32(cdb.b + 2, (uint32_t)lba);
		put_be16(cdb.b + 7, (uint16_t)blocks);
		break;
	case 12:
		put_be32(cdb.b + 2, (uint32_t)lba);
		put_be32(cdb.b + 6, (uint32_t)blocks);
		break;
	default:
		put_be64(cdb.b + 2, lba);
		put_be32(cdb.b + 10, (uint32_t)blocks);
	}
	return cdb;
}

struct cdb cdb_zone_count(uint8_t action, uint64_t zone_id, uint16_t count)
{
	struct cdb cdb = { .b = { ZBC_OUT, action } };

	put_be64(cdb.b + 2, zone_id);
	put_be16(cdb.b + 12, count);
	return cdb;
}

struct cdb cdb_zone(uint8_t action, uint64_t zone_id)
{
	return cdb_zone_count(action, zone_id, 0);
}

struct cdb cdb_zone_all(uint8_t action)
{
	return cdb_with(cdb_zone(action, 0), 14, 1);
}

struct cdb cdb_report_zones(uint64_t lba, uint8_t options, uint32_t alloc)
{
	struct cdb cdb = { .b = { ZBC_IN, SA_REPORT_ZONES } };

	put_be64(cdb.b + 2, lba);
	put_be32(cdb.b + 10, alloc);
	cdb.b[14] = options;
	return cdb;
}

struct cdb cdb_with(struct cdb cdb, unsigned int at, uint8_t value)
{
	cdb.b[at] = value;
	return cdb;
}
