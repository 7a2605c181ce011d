/** A start that follows the end of another k3ts at once waits for it: the killed one may still have its locks and ports. */
import type { Context } from "../context.ts"
import { untilGivenBack, untilPortFree } from "../../../pkg/process/free-port.ts"
import { findAgent, findServer, NODE_PID_FILE, holderOf, wasKilled, type RunningServer } from "./pid-file.ts"

export interface Former {
  readonly dataDir: string
  /** Whether this process is to run the node of the machine. */
  readonly ownsNode: boolean
  /** The address of the API server that is to run. */
  readonly listens?: { readonly host: string; readonly port: number }
}

/**
 * Waits at most ten seconds for a k3ts that is being ended, and says for what. One that goes on is not waited for: the
 * locks refuse it.
 */
export async function untilFormerEnded(
  { dataDir, ownsNode, listens }: Former,
  tools: Pick<Context, "clock" | "log">,
): Promise<void> {
  const ended = (what: string, find: () => RunningServer | undefined) =>
    untilGivenBack(what, () => find()?.isEnding !== true, tools)
  const isAfterKill = wasKilled(dataDir) || findServer(dataDir)?.isEnding === true
  await ended(`the data directory ${dataDir}`, () => findServer(dataDir))
  await ended(`the data directory ${dataDir}`, () => findAgent(dataDir))
  if (ownsNode) await ended("the node of this machine", () => holderOf(NODE_PID_FILE))
  if (isAfterKill && listens !== undefined) await untilPortFree(listens.host, listens.port, tools)
}
