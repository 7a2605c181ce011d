import type { Random } from "../../../../../pkg/clock/random.ts"

/** Returns an id of 64 hex digits, as containerd's. */
export function containerId(random: Random): string {
  let id = ""
  for (let i = 0; i < 8; i++)
    id += Math.floor(random.next() * 2 ** 32)
      .toString(16)
      .padStart(8, "0")
  return id
}
