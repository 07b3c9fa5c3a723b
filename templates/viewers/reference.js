// The page of the API reference: Scalar over the OpenAPI document of the project.
import './reference.css';
import { get, onKey, project, say, serverKey } from './access.js';
import { keepAccessible, selectedIsCurrent, without, withValue } from './accessible.js';

/** Placeholder for the id of the project in the code samples of the document. */
const projectMark = '<PROJECT_ID>';

const settings = {
  theme: 'none',
  withDefaultFonts: false,
  telemetry: false,
  showDeveloperTools: 'never',
  hideClientButton: true,
  hideModels: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  documentDownloadType: 'json',
  persistAuth: false,
  hideDarkModeToggle: true,
  // Without this, the viewer takes the mode that another page of this origin has stored.
  forceDarkModeState: matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light',
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  hiddenClients: hiddenClients(),
};

function hiddenClients() {
  const names = ['c', 'clojure', 'csharp', 'dart', 'fsharp', 'go', 'http', 'java', 'js', 'kotlin', 'node', 'objc'];
  names.push('ocaml', 'php', 'powershell', 'python', 'r', 'ruby', 'rust', 'swift');
  return Object.fromEntries([...names.map((name) => [name, true]), ['shell', ['httpie', 'wget']]]);
}

let credentialHeaders = [];

function headerNames({ components }) {
  const { project: _, ...schemes } = components.securitySchemes;
  return Object.values(schemes).map(({ name }) => name);
}

function configurationOf(description) {
  const key = serverKey();
  return {
    ...settings,
    onBeforeRequest: sent,
    content: description,
    authentication: {
      preferredSecurityScheme: [['project', 'key']],
      securitySchemes: { project: { value: project }, key: { value: key } },
    },
  };
}

/** With a credential in a header, the cookie of a login is not sent: a request has one credential. */
function sent({ request, ...more }) {
  const headers = new Headers(request.headers);
  for (const [name, value] of request.headers) if (value === '') headers.delete(name);
  const has = (name) => headers.has(name);
  const credentials = credentialHeaders.some(has) ? 'omit' : 'same-origin';
  return { ...more, request: new Request(request, { headers, credentials }) };
}

/** Shortens summaries, which the sidebar shows, to their first clause. The whole text becomes the description of the operation. */
function withTitles(description) {
  for (const operations of Object.values(description.paths))
    for (const operation of Object.values(operations)) {
      const [title] = operation.summary.split(/[.;:](?:\s|$)/);
      if (title.length < operation.summary.length - 1) operation.description = operation.summary;
      operation.summary = title;
    }
  return description;
}

/** Names an editor after the label of its field or the cell of its table. */
function nameEditor(editor) {
  const field = editor.closest('[id]');
  const label = field === null ? null : document.querySelector(`label[for="${CSS.escape(field.id)}"]`);
  const cell = editor.closest('td[aria-label]');
  editor.ariaLabel = label?.textContent.trim() ?? cell?.ariaLabel ?? 'Value';
}

keepAccessible({
  'button[aria-selected]:not([role])': selectedIsCurrent,
  '.scalar-code-copy:not([aria-label])': withValue('aria-label', 'Copy'),
  'button[role="search"], button[role="none"]': without('role'),
  'button[aria-controls^="scalar-client-"]': without('aria-controls'),
  'input[type="checkbox"].peer:not([aria-label])': withValue('aria-label', 'Enabled'),
  'section[aria-label^="Notifications"]': without('aria-label'),
  'aside[role="navigation"]': without('role'),
  // The visible text is "Show More".
  'button[aria-label^="Show all"]': (button) => {
    button.ariaLabel = button.ariaLabel.replace('Show all', 'Show More');
  },
  // Several operations have the same title, and all have examples. Readers find both by headings.
  'section.section[aria-labelledby], .section-container[aria-labelledby]': without('aria-labelledby'),
  '.section-container[role="region"], [role="region"][aria-label="Example Responses"]': without('role'),
  '#viewer header:not([role])': withValue('role', 'presentation'),
  '.t-doc__header:not([role])': (header) => {
    header.role = 'navigation';
    header.ariaLabel = 'Menu';
  },
  // Such as "undefined Key".
  '.cm-content[aria-label^="undefined "]': (editor) => {
    editor.ariaLabel = editor.ariaLabel.replace('undefined ', '');
  },
  '.endpoints:not([tabindex])': withValue('tabindex', '0'),
  '.cm-content:not([aria-label])': nameEditor,
  '.cm-content:not([tabindex])': withValue('tabindex', '0'),
});

let viewer;
let loaded;

async function load() {
  const key = serverKey();
  if (loaded === key) return;
  loaded = key;
  say('loading', 'Loading');
  try {
    const text = await get('openapi.json');
    const description = withTitles(JSON.parse(text.replaceAll(projectMark, project)));
    credentialHeaders = headerNames(description);
    const configuration = configurationOf(description);
    if (viewer === undefined) viewer = globalThis.Scalar.createApiReference('#viewer', configuration);
    else viewer.updateConfiguration(configuration);
    const own = Object.keys(description.components.schemas).filter((name) => name.startsWith('Data.')).length;
    if (key === '') return say('guest');
    say('read', `with ${own} ${own === 1 ? 'collection' : 'collections'} of the project`);
  } catch (error) {
    loaded = undefined;
    say('failed', error.message);
  }
}

onKey(load);
load();
