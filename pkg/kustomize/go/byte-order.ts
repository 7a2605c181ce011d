/** Compares texts as Go does: by their bytes in UTF-8, which is the order of code points. */
export function inByteOrder(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)]
    if (x === y) continue
    // The halves of surrogate pairs stand for codes above all others.
    const [isHalfX, isHalfY] = [x >= 0xd800 && x <= 0xdfff, y >= 0xd800 && y <= 0xdfff]
    return isHalfX === isHalfY ? x - y : isHalfX ? 1 : -1
  }
  return a.length - b.length
}
