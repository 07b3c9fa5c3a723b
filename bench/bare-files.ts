// The yardstick for files: Node's HTTP server and its streams, and nothing else. Arguments: port, the file to send, and where to write.
import { createReadStream, createWriteStream, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream';

const [port = '', file = '', directory = ''] = process.argv.slice(2);
let written = 0;

const server = createServer((request, response) => {
  if (request.url === '/readyz') {
    response.end('ok');
    return;
  }
  if (request.method === 'GET') {
    response.writeHead(200, { 'Content-Type': 'application/octet-stream', 'Content-Length': statSync(file).size });
    pipeline(createReadStream(file), response, () => {});
    return;
  }
  const target = join(directory, `upload-${written++}`);
  pipeline(request, createWriteStream(target), (error) => {
    rmSync(target, { force: true });
    response.writeHead(error ? 500 : 201, { 'Content-Type': 'application/json' });
    response.end('{}');
  });
});
server.listen(Number(port), '127.0.0.1');
process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
});
