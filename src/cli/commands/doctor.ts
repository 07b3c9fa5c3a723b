import { command } from '../command.js';
import type { Report } from '../doctor/check.js';
import { examine } from '../doctor/examination.js';
import type { Level } from '../doctor/finding.js';
import { exitCodes } from '../exit.js';
import { findingLines } from '../findings.js';
import { Lines } from '../lines.js';

/** `svc doctor` */
export const doctorCommand = command({
  path: 'doctor',
  summary:
    'Checks the installation and names a fix for each finding. It changes nothing; a running server is not disturbed. Exit code 1 if a finding is an error',
  options: [{ flag: '--offline', summary: 'ask no mail server and no file store, only the database' }],
  examples: ['svc doctor', 'svc doctor --offline --json'],
  needs: 'nothing',
  run: async (call) => {
    const report = await examine(call, { offline: call.args.isSet('--offline') });
    const ok = report.findings.every(({ level }) => level !== 'error');
    const { checks } = report;
    const findings = report.findings.map((finding) => ({ ...finding, fix: call.output.named(finding.fix) }));
    call.output.result({ value: { ok, checks, findings }, text: textOf({ checks, findings }) });
    // What a check that took too long waits for would keep the process.
    process.stdout.write('', () => process.exit(ok ? exitCodes.ok : exitCodes.failed));
    return undefined;
  },
});

function textOf({ checks, findings }: Report): Lines {
  const count = (level: Level) => findings.filter((finding) => finding.level === level).length;
  const text = `Checks made: ${checks}; errors: ${count('error')}, warnings: ${count('warning')}, infos: ${count('info')}`;
  return Lines.joined([findingLines(findings), Lines.marked([{ mark: '', color: 'cyan', text }])]);
}
