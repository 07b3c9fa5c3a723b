// The page of GraphQL: GraphiQL, which also knows the collections of the project.
import './graphql.css';
import { useGraphiQL, useMonaco } from '@graphiql/react';
import { GraphiQL, HISTORY_PLUGIN } from 'graphiql';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { createRoot } from 'react-dom/client';
import { credentials, headersOf, project } from './access.js';
import { keepAccessible, selectedIsCurrent, without } from './accessible.js';
import { currentCollections, freshCollections, onCollections } from './collections.js';
import { describe, exampleOf, suggestionsAt } from './completion.js';

const directory = document.currentScript.src.replace(/[^/]+$/, '');
globalThis.MonacoEnvironment = {
  getWorker: (_id, label) => {
    const name = label === 'json' || label === 'graphql' ? label : 'editor';
    return new Worker(directory + WORKERS[`${name}-worker`]);
  },
};

const welcome = `# Enter a server key above. It is kept in this tab only, and completion then knows your collections.
# Without a key you are the user who is logged in at the service in this browser, or a guest.

{
  __typename
}
`;

async function fetcher({ query, operationName, variables }) {
  const headers = headersOf({
    Accept: 'application/graphql-response+json, application/json;q=0.9',
    'Content-Type': 'application/json',
  });
  const body = JSON.stringify({ query, operationName, variables });
  const response = await fetch('graphql', { method: 'POST', headers, credentials: credentials(), body });
  return parseExactly(await response.text());
}

/** Parses JSON. Numbers that JavaScript would round are kept as they are written, if the browser can (`JSON.rawJSON`). */
function parseExactly(text) {
  return JSON.parse(text, (_key, value, context) =>
    typeof value === 'number' && context !== undefined && JSON.rawJSON && String(value) !== context.source
      ? JSON.rawJSON(context.source)
      : value,
  );
}

/** What GraphiQL stores in the browser, apart for each project. It does not store the key. */
const prefix = `svc:${project}:`;
const storage = {
  getItem: (name) => localStorage.getItem(prefix + name),
  setItem: (name, value) => localStorage.setItem(prefix + name, value),
  removeItem: (name) => localStorage.removeItem(prefix + name),
  clear: () => {
    for (const name of Object.keys(localStorage)) if (name.startsWith(prefix)) localStorage.removeItem(name);
  },
  get length() {
    return Object.keys(localStorage).filter((name) => name.startsWith(prefix)).length;
  },
};

/** Two operations of a collection. */
function exampleFor({ databaseId, id, attributes }) {
  const place = `    databaseId: ${JSON.stringify(databaseId)}\n    collectionId: ${JSON.stringify(id)}`;
  const written = attributes.filter(({ type }) => type !== 'relationship');
  const needed = written.filter(({ required }) => required);
  const data = (needed.length > 0 ? needed : written.slice(0, 3))
    .map((attribute) => `${attribute.key}: ${JSON.stringify(exampleOf(attribute))}`)
    .join(', ');
  const limit = JSON.stringify(JSON.stringify({ method: 'limit', values: [10] }));
  return `query List {
  documentList(
${place}
    queries: [${limit}]
  ) {
    total
    documents {
      id
      data${attributes.length === 0 ? '' : ` # ${attributes.map(({ key }) => key).join(', ')}`}
      updatedAt
    }
  }
}

mutation Create {
  documentCreate(
${place}
    documentId: "unique()"
    data: { ${data} }
  ) {
    id
    data
  }
}
`;
}

const useCollections = () => useSyncExternalStore(onCollections, currentCollections);

/** The panel with the collections, each with an example. */
function Collections() {
  const collections = useCollections();
  const editor = useGraphiQL((state) => state.queryEditor);
  useEffect(() => {
    freshCollections();
  }, []);
  return (
    <section className="collections" aria-label="Collections">
      <h2>Collections</h2>
      {collections.length === 0 && <p>Enter a server key with the scopes databases.read and collections.read above.</p>}
      {collections.map((collection) => (
        <details key={`${collection.databaseId} ${collection.id}`}>
          <summary>
            {collection.id} <small>{collection.databaseId}</small>
          </summary>
          <ul>
            {collection.attributes.map((attribute) => (
              <li key={attribute.key}>
                <code>{attribute.key}</code> <small>{describe(attribute)}</small>
              </li>
            ))}
          </ul>
          <button type="button" onClick={() => editor?.setValue(exampleFor(collection))}>
            Show an example
          </button>
        </details>
      ))}
    </section>
  );
}

function CollectionsIcon() {
  return (
    <svg viewBox="0 0 24 24" height="1em" fill="none" stroke="currentColor" strokeWidth="1.5" aria-hidden="true">
      <ellipse cx="12" cy="5.5" rx="8" ry="3" />
      <path d="M4 5.5v13c0 1.7 3.6 3 8 3s8-1.3 8-3v-13M4 12c0 1.7 3.6 3 8 3s8-1.3 8-3" />
    </svg>
  );
}

const plugins = [HISTORY_PLUGIN, { title: 'Collections', icon: CollectionsIcon, content: Collections }];

/** Puts the example of the first collection in place of the welcome. */
function showExample(monaco) {
  const [first] = currentCollections();
  if (first === undefined) return;
  for (const model of monaco.editor.getModels()) if (model.getValue() === welcome) model.setValue(exampleFor(first));
}

function registerCompletion(monaco) {
  return monaco.languages.registerCompletionItemProvider('graphql', {
    triggerCharacters: ['"', '{', ',', ' '],
    provideCompletionItems: async (model, position) => {
      const offset = model.getOffsetAt(position);
      const text = model.getValue();
      const collections = await freshCollections();
      const { typed, suggestions } = suggestionsAt(text.slice(0, offset), text.slice(offset), collections);
      const range = monaco.Range.fromPositions(model.getPositionAt(offset - typed), position);
      return {
        suggestions: suggestions.map(({ label, text: insertText, detail }) => ({
          label,
          insertText,
          detail,
          filterText: insertText,
          kind: monaco.languages.CompletionItemKind.Value,
          range,
        })),
      };
    },
  });
}

const editorTheme = { dark: 'svc-dark', light: 'svc-light' };

/** Monaco's own themes, without a background and with line numbers and comments in colours that are dark or light enough. */
function defineThemes({ editor }) {
  const define = (name, base, lineNumber, comment) =>
    editor.defineTheme(name, {
      base,
      inherit: true,
      rules: [{ token: 'comment', foreground: comment }],
      colors: {
        'editor.background': '#ffffff00',
        'scrollbar.shadow': '#ffffff00',
        'editorLineNumber.foreground': lineNumber,
        'editorLineNumber.dimmedForeground': lineNumber,
      },
    });
  define(editorTheme.dark, 'vs-dark', '#aab2bd', '#86c06c');
  define(editorTheme.light, 'vs', '#565e6a', '#006b00');
}

function Page() {
  const monaco = useMonaco((state) => state.monaco);
  const collections = useCollections();
  const [isDark, setDark] = useState(matchMedia('(prefers-color-scheme: dark)').matches);
  useEffect(() => {
    if (monaco === undefined) return undefined;
    defineThemes(monaco);
    monaco.editor.setTheme(isDark ? editorTheme.dark : editorTheme.light);
    const completion = registerCompletion(monaco);
    return () => completion.dispose();
  }, [monaco, isDark]);
  useEffect(() => {
    if (monaco !== undefined && collections.length > 0) showExample(monaco);
  }, [monaco, collections]);
  useEffect(() => {
    const query = matchMedia('(prefers-color-scheme: dark)');
    const follow = () => setDark(query.matches);
    query.addEventListener('change', follow);
    return () => query.removeEventListener('change', follow);
  }, []);
  return (
    <GraphiQL
      fetcher={fetcher}
      defaultQuery={welcome}
      storage={storage}
      plugins={plugins}
      forcedTheme={isDark ? 'dark' : 'light'}
      editorTheme={editorTheme}
      isHeadersEditorEnabled={false}
      shouldPersistHeaders={false}
    >
      <GraphiQL.Logo> </GraphiQL.Logo>
    </GraphiQL>
  );
}

// A tab of GraphiQL contains buttons, which a tab must not.
keepAccessible({
  '.graphiql-tabs[role="tablist"]': without('role'),
  '.graphiql-tab[role="tab"]': without('role'),
  '.graphiql-tab[aria-selected]': selectedIsCurrent,
});
createRoot(document.getElementById('viewer')).render(
  <main>
    <Page />
  </main>,
);
