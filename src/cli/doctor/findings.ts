import { type Color, Lines } from '../terminal/lines.js';
import type { DoctorFinding, Level } from './finding.js';

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
