import type { Finding, Level } from './doctor/finding.js';
import { type Color, Lines } from './lines.js';

const colors: Readonly<Record<Level, Color>> = { error: 'red', warning: 'yellow', info: 'cyan' };
const levelWidth = 'warning'.length + 2;

/** Findings as text: a line with the level of each, and a line with its fix. */
export function findingLines(findings: readonly Finding[]): Lines {
  return Lines.marked(
    findings.flatMap(({ level, code, message, fix }) => [
      { mark: level.padEnd(levelWidth), color: colors[level], text: `${code}  ${message}` },
      { mark: ' '.repeat(levelWidth), color: colors[level], text: `fix: ${fix}` },
    ]),
  );
}
