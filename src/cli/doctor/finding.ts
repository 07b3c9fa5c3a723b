import type { Config } from '#src/platform/config/schema.js';
import type { DatabaseError } from '#src/platform/db/database-error.js';
import { namingOwner } from '../installation/database-refusal.js';
import { explain } from '../terminal/exit.js';
import { type Color, Lines } from '../terminal/lines.js';

/** Severity of a finding. An error makes the command fail, a warning can become an error, an info may be intended. */
export type Level = 'error' | 'warning' | 'info';

/** Codes of `svc doctor` with their levels; docs/troubleshooting.md lists them. Findings from a database error use the type of its condition. */
export const findingLevels = {
  configuration_invalid: 'error',
  setting_unknown: 'warning',
  setting_repeated: 'warning',
  settings_file_readable: 'error',
  data_directory_missing: 'error',
  data_directory_unusable: 'error',
  data_directory_readable: 'warning',
  database_file_readable: 'warning',
  disk_full: 'error',
  disk_nearly_full: 'warning',
  node_end_of_life: 'warning',
  log_file_unusable: 'error',
  memory_limit: 'warning',
  tls_unusable: 'error',
  tls_expired: 'error',
  tls_expires_soon: 'warning',
  base_url_insecure: 'warning',
  base_url_port: 'warning',
  proxies_untrusted: 'warning',
  tokens_in_response: 'warning',
  rate_limit_off: 'warning',
  insecure_targets: 'warning',
  private_targets: 'info',
  mail_not_configured: 'warning',
  mail_unreachable: 'error',
  mail_refused: 'error',
  mails_failing: 'warning',
  templates_missing: 'error',
  template_faulty: 'error',
  port_taken: 'error',
  file_store_unusable: 'error',
  files_move_unfinished: 'warning',
  files_missing: 'error',
  files_unknown: 'warning',
  database_file_missing: 'error',
  schema_pending: 'error',
  schema_newer: 'error',
  master_key_wrong: 'error',
  clock_behind: 'error',
  clock_differs: 'warning',
  standby_unusable: 'warning',
  standby_late: 'warning',
  job_failed: 'warning',
  job_abandoned: 'warning',
  backup_missing: 'warning',
  backup_failed: 'warning',
  backup_old: 'warning',
  backup_gone: 'warning',
  backup_place_unusable: 'error',
  rotation_unfinished: 'warning',
  audit_broken: 'error',
  webhook_disabled: 'warning',
  webhook_failing: 'warning',
  webhooks_behind: 'warning',
  signing_key_old: 'warning',
  team_without_owner: 'info',
  origin_refused: 'info',
  query_slow: 'warning',
  check_failed: 'error',
} as const satisfies Readonly<Record<string, Level>>;

/** A code listed in `findingLevels`. */
export type FindingCode = keyof typeof findingLevels;

/** A problem and its fix. */
export interface DoctorFinding {
  readonly code: string;
  readonly level: Level;
  readonly message: string;
  /** A command where possible. */
  readonly fix: string;
}

/** Creates a finding with the level of its code. */
export function found(code: FindingCode, message: string, fix: string): DoctorFinding {
  return { code, level: findingLevels[code], message, fix };
}

/** Creates a finding for a database error, with the same text as in every command. */
export function saidByDatabase(error: DatabaseError, config: Config): DoctorFinding {
  const { type, message, fix } = explain(namingOwner(config, error));
  return { code: type, level: 'error', message, fix };
}

const colors: Readonly<Record<Level, Color>> = { error: 'red', warning: 'yellow', info: 'cyan' };
const levelWidth = 'warning'.length + 2;

/** Formats findings: a line with level and message, and a line with the fix. */
export function findingLines(findings: readonly DoctorFinding[]): Lines {
  return Lines.marked(
    findings.flatMap(({ level, code, message, fix }) => [
      { mark: level.padEnd(levelWidth), color: colors[level], text: `${code}  ${message}` },
      { mark: ' '.repeat(levelWidth), color: colors[level], text: `fix: ${fix}` },
    ]),
  );
}
