/* SPDX-License-Identifier: Apache-2.0 */
/* Rows to an .npy file, byte for byte what np.save writes.  The header comes first and holds
 * the number of rows: where that is not known before, the rows wait in an unlinked file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <ticktail/npy.h>
#include <unistd.h>

#include "codec.h"
#include "spool.h"

static int put_header(struct cli_writer *writer, uint64_t rows)
{
	const struct cli_rowtype *type = writer->type;
	uint64_t shape[TT_MAX_RANK];
	struct tt_error err;
	void *header;
	size_t len;

	if (type->rank + 1 > TT_MAX_RANK)
		return cli_fail(writer->ctx, "an array of %u dimensions is not possible",
				type->rank + 1);
	shape[0] = rows;
	memcpy(shape + 1, type->shape, type->rank * sizeof(*shape));
	if (tt_npy_header_format(&header, &len, type->dtype, type->rank + 1, shape,
				 &err) < 0)
		return cli_fail_error(writer->ctx, &err);
	cli_out_put(writer->out, header, len);
	free(header);
	return writer->out->status;
}

static int npy_begin(struct cli_writer *writer)
{
	if (writer->total == CLI_ROWS_UNKNOWN)
		return cli_spool_open(writer->ctx, &writer->spool);
	return put_header(writer, writer->total);
}

static int npy_put(struct cli_writer *writer, const void *rows, uint64_t count)
{
	size_t bytes = (size_t)count * writer->type->bytes;

	if (writer->spool >= 0)
		return cli_spool_put(writer->ctx, writer->spool, rows, bytes);
	cli_out_put(writer->out, rows, bytes);
	return writer->out->status;
}

static int copy_spool(struct cli_writer *writer)
{
	char buf[65536];
	ssize_t got;

	if (lseek(writer->spool, 0, SEEK_SET) < 0)
		return cli_fail_code(writer->ctx, "rows kept aside", -errno);
	while ((got = read(writer->spool, buf, sizeof(buf))) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return cli_fail_code(writer->ctx, "rows kept aside", -errno);
		cli_out_put(writer->out, buf, (size_t)got);
		if (writer->out->status)
			return writer->out->status;
	}
	return 0;
}

static int npy_end(struct cli_writer *writer)
{
	int status;

	if (writer->spool >= 0) {
		status = put_header(writer, writer->done);
		return status ? status : copy_spool(writer);
	}
	/* the header is out: fewer rows than it says must not look like a whole array */
	if (writer->done != writer->total)
		return cli_fail(writer->ctx,
				"%llu rows instead of %llu: the source changed",
				(unsigned long long)writer->done,
				(unsigned long long)writer->total);
	return 0;
}

const struct cli_writer_ops cli_npy_writer = { npy_begin, npy_put, npy_end };
