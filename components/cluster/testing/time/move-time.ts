import type { VirtualClock } from "../../../../pkg/clock/virtual.ts"
import { TestClusterError } from "../caller.ts"
import type { ClusterParts } from "../cluster-parts.ts"

/**
 * Moves time for the method with this name. @throws TestClusterError on the real clock, and when functions of the test
 * have thrown in the background
 */
export async function moveTime(
  method: string,
  { virtual, driver, thrown }: Pick<ClusterParts, "virtual" | "driver" | "thrown">,
  work: (clock: VirtualClock) => Promise<void>,
): Promise<void> {
  if (virtual === undefined)
    throw new TestClusterError(
      `Cannot ${method}: the cluster runs on the real clock, which nobody can move. Use \`eventually\`, or ` +
        `clock: "virtual"`,
    )
  await driver.move(work)
  const [failure] = thrown
  if (failure === undefined) return
  const messages = thrown.map(({ message }) => message)
  thrown.length = 0
  throw new TestClusterError(messages.join("\n"), { cause: failure })
}
