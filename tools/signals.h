/* SPDX-License-Identifier: Apache-2.0 */
/* SIGINT and SIGTERM as a flag that loops look at; both for commands that must end tidily. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

void cli_signals_catch(void);
int cli_signals_seen(void); /* 0, or the signal */
void cli_signals_die(void); /* as if the signal seen had never been caught */

#endif
