import { command } from '../command.js';
import type { Report } from '../doctor/check.js';
import { examine } from '../doctor/examination.js';
import type { Level } from '../doctor/finding.js';
import { exitCodes } from '../exit.js';
import { type Color, Lines } from '../lines.js';

const colors: Readonly<Record<Level, Color>> = { error: 'red', warning: 'yellow', info: 'cyan' };
const levelWidth = 'warning'.length + 2;

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
    const { checks, findings } = report;
    call.output.result({ value: { ok, checks, findings }, text: textOf(report) });
    // What a check that took too long waits for would keep the process.
    process.stdout.write('', () => process.exit(ok ? exitCodes.ok : exitCodes.failed));
    return undefined;
  },
});

function textOf({ checks, findings }: Report): Lines {
  const shown = findings.flatMap(({ level, code, message, fix }) => [
    { mark: level.padEnd(levelWidth), color: colors[level], text: `${code}  ${message}` },
    { mark: ' '.repeat(levelWidth), color: colors[level], text: `fix: ${fix}` },
  ]);
  const count = (level: Level) => findings.filter((finding) => finding.level === level).length;
  const text = `Checks made: ${checks}; errors: ${count('error')}, warnings: ${count('warning')}, notes: ${count('info')}`;
  return Lines.marked([...shown, { mark: '', color: 'cyan', text }]);
}
