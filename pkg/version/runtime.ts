/** The first version of Node with all that this package needs: zstd came last, which snapshots use. */
const NODE = "22.15.0"

/**
 * Returns why this package cannot run here; undefined where it can. Bun and Deno, which have a version of Node too, are
 * taken as they are.
 */
export function unfitRuntime({ node, bun, deno }: Readonly<Record<string, string | undefined>>): string | undefined {
  if (bun !== undefined || deno !== undefined || node === undefined || !isBefore(node, NODE)) return undefined
  return `k3ts needs Node ${NODE.replace(/\.0$/, "")} or later, Bun 1.4 or Deno 2.9; this is Node ${node}`
}

function isBefore(version: string, limit: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  const [leastMajor = 0, leastMinor = 0] = limit.split(".").map(Number)
  return major < leastMajor || (major === leastMajor && minor < leastMinor)
}
