import type { Report } from '../doctor/check.js';
import { examine } from '../doctor/examination.js';
import { findingLines, type Level } from '../doctor/finding.js';
import { command } from '../line/command.js';
import { exitCodes } from '../terminal/exit.js';
import { Lines } from '../terminal/lines.js';

/** `svc doctor` */
export const doctorCommand = command({
  path: 'doctor',
  summary:
    'Checks the installation and names a fix for each finding. It changes nothing and does not disturb a running server. Exit code 1 if a finding is an error',
  options: [{ flag: '--offline', summary: 'do not contact the mail server or the file store' }],
  examples: ['svc doctor', 'svc doctor --offline --json'],
  needs: 'nothing',
  run: async (call) => {
    const report = await examine(call, { offline: call.args.isSet('--offline') });
    const ok = report.findings.every(({ level }) => level !== 'error');
    const { checks } = report;
    const findings = report.findings.map((finding) => ({ ...finding, fix: call.output.named(finding.fix) }));
    call.output.result({ value: { ok, checks, findings }, text: textOf({ checks, findings }) });
    // Exits explicitly, because checks that timed out may still be waiting.
    process.stdout.write('', () => process.exit(ok ? exitCodes.ok : exitCodes.failed));
    return undefined;
  },
});

function textOf({ checks, findings }: Report): Lines {
  const count = (level: Level) => findings.filter((finding) => finding.level === level).length;
  const text = `Checks made: ${checks}; errors: ${count('error')}, warnings: ${count('warning')}, infos: ${count('info')}`;
  return Lines.joined([findingLines(findings), Lines.marked([{ mark: '', color: 'cyan', text }])]);
}
