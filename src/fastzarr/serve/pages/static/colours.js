// Colours of segments and of channels. A pixel is one 32-bit number, little-endian R G B A.

const OPAQUE = 0xff000000;

export const pixel = (r, g, b) => (OPAQUE | (b << 16) | (g << 8) | r) >>> 0;
export const css = (p) => `rgb(${p & 255} ${(p >>> 8) & 255} ${(p >>> 16) & 255})`;

function hsv(hue, saturation, value) {
  const part = (n) => {
    const k = (n + hue * 6) % 6;
    return Math.round(255 * value * (1 - saturation * Math.max(0, Math.min(k, 4 - k, 1))));
  };
  return pixel(part(5), part(3), part(1));
}

// 4096 colours that can be told from black, white and grey: 256 hues, 4 saturations, 4 brightnesses.
export const PALETTE = Uint32Array.from({ length: 4096 }, (_, n) =>
  hsv((n >>> 4) / 256, 0.5 + ((n >>> 2) & 3) / 6, 0.7 + (n & 3) / 10),
);

// The colour of a segment depends on its id alone: the same on every plane, in every session.
// `low` and `high` are the halves of the id.
export function paletteIndex(low, high) {
  let h = Math.imul(low ^ Math.imul(high, 0x9e3779b1), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) & 4095;
}

export function segmentColour(id) {
  const bits = BigInt.asUintN(64, BigInt(id));
  return PALETTE[paletteIndex(Number(bits & 0xffffffffn) | 0, Number(bits >> 32n) | 0)];
}

export const TINTS = {
  white: [255, 255, 255],
  red: [255, 60, 60],
  green: [60, 220, 90],
  blue: [80, 130, 255],
  yellow: [255, 215, 50],
  magenta: [255, 80, 220],
  cyan: [60, 215, 230],
};
export const PRIMARIES = [
  [255, 0, 0],
  [0, 255, 0],
  [0, 0, 255],
];

// 256 pixels from black to the tint, weighed by the layer's opacity.
export function ramp(tint, opacity) {
  return Uint32Array.from({ length: 256 }, (_, level) => {
    const [r, g, b] = tint.map((part) => Math.round((part * level * opacity) / 255));
    return pixel(r, g, b);
  });
}
