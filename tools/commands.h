/* SPDX-License-Identifier: Apache-2.0 */
/* The commands, one a file cmd_<name>.c. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cmd.h"

extern const struct cli_cmd cli_cmd_adopt, cli_cmd_append, cli_cmd_archive,
	cli_cmd_backup, cli_cmd_clear, cli_cmd_create, cli_cmd_gen, cli_cmd_info,
	cli_cmd_merge, cli_cmd_prune, cli_cmd_read, cli_cmd_recover, cli_cmd_resize,
	cli_cmd_seal, cli_cmd_status, cli_cmd_tail, cli_cmd_top, cli_cmd_update,
	cli_cmd_verify, cli_cmd_versions;

#endif
