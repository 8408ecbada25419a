/* SPDX-License-Identifier: Apache-2.0 */
/* What libhdf5 calls: a file driver (public H5FD interface) over a driver handle.  It opens
 * and locks nothing: that was done before libhdf5 came in. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "archive/driver_state.h"
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

#include "base/num.h"

struct vfd {
	H5FD_t base; /* libhdf5's part comes first */
	struct tti_driver *driver;
	haddr_t eoa;
};

/* What the access property list carries; libhdf5 copies it byte by byte. */
struct vfd_info {
	struct tti_driver *driver;
};

static herr_t fail(struct tti_driver *driver, int code, const char *what)
{
	if (driver->failed == TT_OK) {
		driver->failed = code;
		driver->failed_what = what;
	}
	H5Epush2(H5E_DEFAULT, __FILE__, __func__, __LINE__, H5E_ERR_CLS, H5E_VFL,
		 H5E_SYSERRSTR, "%s: %s", what, tt_strerror(code));
	return -1;
}

static H5FD_t *vfd_open(const char *name, unsigned flags, hid_t fapl, haddr_t most)
{
	const struct vfd_info *info = H5Pget_driver_info(fapl);
	struct vfd *vfd;

	(void)name, (void)flags, (void)most;
	vfd = info ? calloc(1, sizeof(*vfd)) : NULL;
	if (!vfd)
		return NULL;
	vfd->driver = info->driver;
	vfd->driver->open_files++;
	return &vfd->base;
}

static herr_t vfd_close(H5FD_t *file)
{
	struct vfd *vfd = (struct vfd *)file;
	struct tti_driver *driver = vfd->driver;

	free(vfd);
	if (--driver->open_files == 0 && driver->orphan)
		tti_driver_free(driver);
	return 0;
}

static int vfd_cmp(const H5FD_t *a, const H5FD_t *b)
{
	uintptr_t x = (uintptr_t)((const struct vfd *)a)->driver;
	uintptr_t y = (uintptr_t)((const struct vfd *)b)->driver;

	/* two handles are never one file to libhdf5: it would share what is in memory */
	return (x > y) - (x < y);
}

static herr_t vfd_query(const H5FD_t *file, unsigned long *flags)
{
	(void)file;
	*flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA |
		 H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_AGGREGATE_SMALLDATA |
		 H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
	return 0;
}

static haddr_t vfd_get_eoa(const H5FD_t *file, H5FD_mem_t type)
{
	(void)type;
	return ((const struct vfd *)file)->eoa;
}

static herr_t vfd_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t eoa)
{
	(void)type;
	((struct vfd *)file)->eoa = eoa;
	return 0;
}

static haddr_t vfd_get_eof(const H5FD_t *file, H5FD_mem_t type)
{
	(void)type;
	return ((const struct vfd *)file)->driver->eof;
}

/* A place that libhdf5 names for the pointer we are waiting for. */
static bool is_expected(struct tti_driver *driver, H5FD_mem_t type, const void *bytes)
{
	return type == H5FD_MEM_DRAW && driver->expected && bytes == driver->expected;
}

static void note_place(struct tti_driver *driver, haddr_t address, size_t n)
{
	driver->seen = true;
	driver->seen_address = address;
	driver->seen_bytes = n;
}

/* params: the members of H5FD_class_t are HDF5's. */
static herr_t vfd_read(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t address,
		       size_t n, void *bytes)
{
	struct tti_driver *driver = ((struct vfd *)file)->driver;
	int rc;

	(void)dxpl;
	if (is_expected(driver, type, bytes)) {
		note_place(driver, address, n); /* a probe: the bytes are not wanted */
		return 0;
	}
	if (tti_overlay_hides(&driver->overlay, address, n)) {
		tti_overlay_lay(&driver->overlay, address, bytes, n);
		return 0;
	}
	rc = tti_driver_read_below(driver, address, bytes, n);
	if (rc < 0)
		return fail(driver, rc, "read");
	tti_overlay_lay(&driver->overlay, address, bytes, n);
	return 0;
}

/* params: as vfd_read(). */
static herr_t vfd_write(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t address,
			size_t n, const void *bytes)
{
	struct tti_driver *driver = ((struct vfd *)file)->driver;
	bool ours = is_expected(driver, type, bytes);

	(void)dxpl;
	if (driver->phase == TTI_PHASE_DEAD)
		return 0;
	if (driver->phase != TTI_PHASE_RUN)
		return fail(driver, -EBADF,
			    "write to an archive that is open for reading");
	if (address > INT64_MAX || n > INT64_MAX - address)
		return fail(driver, -EFBIG, "write");
	if (ours) {
		note_place(driver, address, n);
		driver->in_overlay = address < driver->committed_end;
	}
	if (ours && !driver->in_overlay)
		tti_overlay_uncover(&driver->overlay, address, n);
	else if (tti_overlay_write(&driver->overlay, address, bytes, n) < 0)
		return fail(driver, -ENOMEM, "write");
	driver->eof = tti_max_u64(driver->eof, address + n);
	return 0;
}

/* The file on disk keeps its length until the commit. */
static herr_t vfd_truncate(H5FD_t *file, hid_t dxpl, hbool_t closing)
{
	struct vfd *vfd = (struct vfd *)file;

	(void)dxpl, (void)closing;
	if (vfd->driver->phase == TTI_PHASE_RUN)
		vfd->driver->eof = vfd->eoa;
	return 0;
}

static const H5FD_class_t vfd_class = {
#if H5_VERSION_GE(1, 14, 0)
	.version = H5FD_CLASS_VERSION,
#endif
#if H5_VERSION_GE(1, 13, 0)
	.value = (H5FD_class_value_t)0x5454, /* in the range of unregistered drivers */
#endif
	.name = "ticktail",
	.maxaddr = INT64_MAX,
	.fc_degree = H5F_CLOSE_STRONG,
	.fapl_size = sizeof(struct vfd_info),
	.open = vfd_open,
	.close = vfd_close,
	.cmp = vfd_cmp,
	.query = vfd_query,
	.get_eoa = vfd_get_eoa,
	.set_eoa = vfd_set_eoa,
	.get_eof = vfd_get_eof,
	.read = vfd_read,
	.write = vfd_write,
	.truncate = vfd_truncate,
	.fl_map = H5FD_FLMAP_DICHOTOMY,
};

int tti_vfd_attach(struct tti_driver *driver, struct tt_error *err)
{
	struct vfd_info info = { .driver = driver };
	bool good;

	driver->class_id = H5FDregister(&vfd_class);
	if (driver->class_id < 0)
		return tti_h5_fail(err, TT_E_UNSUPPORTED, driver->access.shown,
				   "file driver");
	driver->fapl = H5Pcreate(H5P_FILE_ACCESS);
	good = driver->fapl >= 0 &&
	       H5Pset_driver(driver->fapl, driver->class_id, &info) >= 0 &&
	       /* what every release reads, whatever the default of this one */
	       H5Pset_libver_bounds(driver->fapl, H5F_LIBVER_EARLIEST,
				    H5F_LIBVER_LATEST) >= 0 &&
	       /* chunks can then go past the page cache */
	       H5Pset_alignment(driver->fapl, 65536, TTI_IO_ALIGN) >= 0 &&
	       H5Pset_fclose_degree(driver->fapl, H5F_CLOSE_STRONG) >= 0;
	if (!good)
		return tti_h5_fail(err, -ENOMEM, driver->access.shown,
				   "file access properties");
	return TT_OK;
}

void tti_vfd_detach(struct tti_driver *driver)
{
	tti_h5_close(&driver->fapl);
	tti_h5_close(&driver->class_id);
}
