// The page of GraphQL: GraphiQL, which knows the collections of the project.
import './graphql.css';
import { GraphiQL } from 'graphiql';
import { createRoot } from 'react-dom/client';
import { credentials, headersOf, project } from './access.js';

const directory = document.currentScript.src.replace(/[^/]+$/, '');
globalThis.MonacoEnvironment = {
  getWorker: (_id, label) => {
    const name = label === 'json' || label === 'graphql' ? label : 'editor';
    return new Worker(directory + WORKERS[`${name}-worker`]);
  },
};

async function fetcher({ query, operationName, variables }) {
  const headers = headersOf({
    Accept: 'application/graphql-response+json, application/json;q=0.9',
    'Content-Type': 'application/json',
  });
  const body = JSON.stringify({ query, operationName, variables });
  const response = await fetch('graphql', { method: 'POST', headers, credentials: credentials(), body });
  return JSON.parse(await response.text());
}

createRoot(document.getElementById('viewer')).render(<GraphiQL fetcher={fetcher} isHeadersEditorEnabled={false} />);
