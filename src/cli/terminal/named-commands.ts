import { shellWord } from './exit.js';

/** First words of commands that need no installation. */
const withoutInstallation = ['commands', 'completion', 'version', 'help'];

/** Adds the flag that selects the installation to the commands in a text, so that they can be copied. */
export type NameCommands = (text: string) => string;

/** Creates a function that adds `--config` to commands with these first words. It returns texts unchanged if the flag was not given. */
export function createNameCommands(argv: readonly string[], firstWords: readonly string[]): NameCommands {
  const file = configOf(argv);
  if (file === undefined) return (text) => text;
  const words = firstWords.filter((word) => !withoutInstallation.includes(word)).join('|');
  // Excludes help, which is the same for every installation, and prose that mentions svc.
  const command = new RegExp(`(?<![\\w./-])svc (?=(?:${words})(?![\\w-]))(?![a-z -]*--help\\b)`, 'g');
  return (text) => text.replace(command, () => `svc --config ${shellWord(file)} `);
}

/** The value of `--config` in a possibly invalid command line. */
function configOf(argv: readonly string[]): string | undefined {
  const at = argv.findLastIndex((word) => word === '--config' || word.startsWith('--config='));
  const word = argv[at];
  return word === '--config' ? argv[at + 1] : word?.slice('--config='.length);
}
