import type { ApiRequest } from "../../../components/apiserver/call/request.ts"
import { startCluster } from "../../../components/cluster/testing/testing.ts"
import { runDay, witnessOwners } from "./day.ts"
import { agentLineOf, isComponent, lineOf, Tally, WRITES, type DayRecord, type Written } from "./lines.ts"
import { machines } from "./machines.ts"
import { witnessScheduling } from "./scheduling.ts"
import type { Step } from "./step.ts"

/** Runs the steps of a day in virtual time. What was refused counts as written. */
export async function virtualDay(steps: readonly Step[]): Promise<DayRecord> {
  const writes = new Tally()
  const agents = new Set<string>()
  let step = 0
  await using cluster = await startCluster({
    seed: 1,
    skips: [],
    // There is no driver that makes volumes.
    components: {
      controllers: {
        disabled: ["simulated-volume-controller", "simulated-volume-reclaimer", "simulated-volume-resizer"],
      },
    },
  })
  await cluster.faults.requests({
    error(request) {
      const written = writtenOf(request)
      if (!isComponent(written.user) || request.options.dryRun === true) return undefined
      agents.add(agentLineOf(written))
      if (WRITES.has(written.verb)) writes.add(lineOf(written), step)
      return undefined
    },
  })
  const owners = witnessOwners(cluster.contextFor())
  const told = witnessScheduling(cluster.contextFor())
  for (const machine of machines()) await cluster.run(machine)
  await runDay(
    steps,
    cluster.client,
    (seconds) => cluster.advance(`${seconds}s`),
    (next) => void (step = next),
  )
  return {
    writes: writes.result(),
    refused: {},
    agents: [...agents].toSorted(),
    owners: [...owners].toSorted(),
    told: [...told].toSorted(),
  }
}

const writtenOf = ({ user, userAgent = "", options, verb, resource, subresource, patch }: ApiRequest): Written => ({
  user: user.name,
  userAgent,
  fieldManager: options.fieldManager,
  verb,
  group: resource.group,
  resource: resource.plural,
  subresource,
  patch: patch?.type,
})
