/** Width and height in pixels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** An SVG document of this size. */
export function svgOf({ width, height }: Size, content: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${content}</svg>`;
}

/** Scales a drawing with its own coordinates to this size: `slice` fills the image and crops, `meet` shows the whole drawing. */
export function fitted({ width, height }: Size, viewBox: string, fit: 'slice' | 'meet', content: string): string {
  const inner = `<svg width="${width}" height="${height}" viewBox="${viewBox}" preserveAspectRatio="xMidYMid ${fit}">${content}</svg>`;
  return svgOf({ width, height }, inner);
}

/** Resolves the requested size. A side of 0 follows from the other one and `proportion`; if both are 0, the standard width is used. */
export function sizeOf({ width, height }: Size, proportion: number, standard: number): Size {
  const least = (pixels: number) => Math.max(1, Math.round(pixels));
  if (width === 0 && height === 0) return { width: standard, height: least(standard / proportion) };
  return { width: width || least(height * proportion), height: height || least(width / proportion) };
}
