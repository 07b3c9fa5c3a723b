import encodeQR from 'qr';

/** The margin that the package adds around a code, in modules. */
const border = 1;

/** The dark modules of a QR code (ISO/IEC 18004), without a margin. */
export interface QrCode {
  /** Modules on each side. */
  readonly side: number;
  /** The path of an SVG that fills the dark modules, each one unit wide. */
  readonly path: string;
}

/** Encodes a text as QR code. Throws Error if it is too long. */
export function qrCode(text: string): QrCode {
  const modules = encodeQR(text, 'raw', { ecc: 'medium', border });
  const dark = modules.flatMap((row, y) =>
    row.flatMap((isDark, x) => (isDark ? [`M${x - border} ${y - border}h1v1h-1z`] : [])),
  );
  return { side: modules.length - 2 * border, path: dark.join('') };
}
