/** Names of snapshots: `<base>-<node>-<seconds since 1970>`, with `.zst` if compressed. Source: k3s. */

/** A name is a file name in the folder, and never a path. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,239}$/
const OWN = /^(.+)-(\d{9,12})(\.zst)?$/

export const isSnapshotName = (name: string): boolean => NAME.test(name) && !name.includes("..")

/** @param time in milliseconds since the epoch */
export const snapshotName = (base: string, node: string, time: number, compressed: boolean): string =>
  `${base}-${node}-${Math.floor(time / 1000)}${compressed ? ".zst" : ""}`

/** Returns the time in a name with this base and node, in seconds since the epoch; undefined for other names. */
export function timeInName(name: string, base: string, node: string): number | undefined {
  const [, start, seconds] = OWN.exec(name) ?? []
  return start === `${base}-${node}` ? Number(seconds) : undefined
}
