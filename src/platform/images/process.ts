import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { createFrameReader, writeFrame } from './frames.js';
import { type ImageAnswer, ImageRefused, type ImageRequest } from './image.js';

/** Of the process: the machine serves everybody else first. */
const niceness = 10;
/** How often it gives a sign of life while it works: decoding is done by other threads. */
const beatMs = 500;

yieldToOthers();
// The service ends it when it ends itself, and lets what is under way finish before.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
// Whatever is still being converted then is for nobody.
process.on('disconnect', () => process.exit(0));
process.stdout.on('error', () => process.exit(0));
await work();
process.exit(0);

/** Converts one image after another until the service has gone. */
async function work(): Promise<void> {
  const next = createFrameReader(process.stdin);
  for (;;) {
    const request = await next();
    if (request === undefined) return;
    signOfLife();
    const beat = setInterval(signOfLife, beatMs);
    const pieces: Buffer[] = [];
    for (let piece = await next(); piece?.length !== 0; piece = await next()) {
      if (piece === undefined) return;
      pieces.push(piece);
    }
    const { bytes, ...answer } = await answerTo(Buffer.concat(pieces), JSON.parse(request.toString()));
    pieces.length = 0;
    await writeFrame(process.stdout, Buffer.from(JSON.stringify(answer)));
    await writeFrame(process.stdout, bytes);
    clearInterval(beat);
  }
}

/** The service may be gone already; then this process ends too. */
function signOfLife(): void {
  if (process.connected) process.send?.(0, () => {});
}

async function answerTo(bytes: Buffer, request: ImageRequest): Promise<ImageAnswer & { readonly bytes: Buffer }> {
  const residentBytes = () => process.memoryUsage.rss();
  try {
    const { convertImage } = await import('./pipeline.js');
    const { bytes: converted, format } = await convertImage(bytes, request);
    return { format, bytes: converted, residentBytes: residentBytes() };
  } catch (error) {
    const reason = error instanceof ImageRefused ? error.reason : 'unsupported';
    return { refused: reason, bytes: Buffer.alloc(0), residentBytes: residentBytes() };
  }
}

/** Where the system does not let it, it works like any other process. */
function yieldToOthers(): void {
  try {
    setPriority(niceness);
    // Where memory is short, Linux ends this process first.
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {}
}
