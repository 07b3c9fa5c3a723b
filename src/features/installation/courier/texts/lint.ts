import type { Fault, Template, Templates } from '#src/platform/templates/templates.js';
import { type MessageName, messages, variablesOf } from '../model/messages.js';
import { folderOf, loadParts, type Parts, templatePathsOf } from './files.js';

/** Variables of the layout of mails. */
const layoutVariables = {
  names: ['lang', 'subject', 'preheader', 'project', 'accent', 'onAccent', 'content'],
  needed: ['content'],
};

/** Faults in the existing texts of a message. */
export function faultsOf(message: MessageName, parts: Parts): Fault[] {
  return Object.entries(parts).flatMap(([part, template]) => {
    if (template === undefined) return [];
    if (part === 'layout') return faultsIn(template, layoutVariables);
    const { names, needed } = variablesOf(message);
    if (part !== 'subject') return faultsIn(template, { names, needed });
    return [...faultsIn(template, { names, needed: [] }), ...subjectFaults(template)];
  });
}

function faultsIn(template: Template, variables: ReturnType<typeof variablesOf>): Fault[] {
  const { file, mentions, faults } = template;
  const unknown = mentions
    .filter(({ name }) => !variables.names.includes(name))
    .map(({ name, line }) => ({
      file,
      line,
      message: `there is no variable {{${name}}} here; there are: ${variables.names.join(', ')}`,
    }));
  const missing = variables.needed
    .filter((needed) => !mentions.some(({ name, isCertain }) => name === needed && isCertain))
    .map((needed) => ({ file, line: 1, message: `{{${needed}}} is missing; it has to stand outside of any block` }));
  const isEmpty = template.pieces.every((piece) => piece.kind === 'text' && piece.text.trim() === '');
  return [...faults, ...unknown, ...missing, ...(isEmpty ? [{ file, line: 1, message: 'the text is empty' }] : [])];
}

/** Requires a subject of one line that is never empty, whatever the values are. */
function subjectFaults({ file, pieces }: Template): Fault[] {
  const own = pieces.map((piece) => (piece.kind === 'text' ? piece.text : '')).join('');
  const hasContent = pieces.some((piece) => piece.kind !== 'text');
  const found: Fault[] = [];
  if (hasContent && own.trim() === '')
    found.push({ file, line: 1, message: 'the subject may be empty; it needs words of its own' });
  if (own.trim().includes('\n')) found.push({ file, line: 2, message: 'the subject must be one line' });
  return found;
}

/** Checks the texts of messages in every language. Each language must have all files of a message. */
export async function lintTexts(templates: Templates, names: readonly MessageName[]): Promise<Fault[]> {
  const found: Fault[] = [];
  for (const message of names) {
    for (const locale of await templates.folders(folderOf[messages[message].channel])) {
      const paths = templatePathsOf(message, locale);
      const parts = await loadParts(templates, paths);
      const missing = Object.entries(paths)
        .filter(([part]) => parts[part] === undefined)
        .map(([, path]) => ({ file: templates.ownPath(path), line: 1, message: `the file is missing in ${locale}` }));
      found.push(...missing, ...faultsOf(message, parts));
    }
  }
  // Removes duplicates: every mail uses the same layout.
  return [...new Map(found.map((fault) => [JSON.stringify(fault), fault])).values()];
}
