import { shellWord } from './exit.js';

/** The first words of commands that need no installation. */
const withoutInstallation = ['commands', 'completion', 'version', 'help'];

/** Gives the commands of a text what selects the installation of this command line, so that they work as they are pasted. */
export type NameCommands = (text: string) => string;

/** The flag that selects the installation, for the commands with these first words; texts stay as they are where it was not given. */
export function createNameCommands(argv: readonly string[], firstWords: readonly string[]): NameCommands {
  const file = configOf(argv);
  if (file === undefined) return (text) => text;
  const words = firstWords.filter((word) => !withoutInstallation.includes(word)).join('|');
  // Help is the same everywhere, and prose speaks of svc itself too.
  const command = new RegExp(`(?<![\\w./-])svc (?=(?:${words})(?![\\w-]))(?![a-z -]*--help\\b)`, 'g');
  return (text) => text.replace(command, () => `svc --config ${shellWord(file)} `);
}

/** The value of `--config`, of a command line that may not be valid. */
function configOf(argv: readonly string[]): string | undefined {
  const at = argv.findLastIndex((word) => word === '--config' || word.startsWith('--config='));
  const word = argv[at];
  return word === '--config' ? argv[at + 1] : word?.slice('--config='.length);
}
