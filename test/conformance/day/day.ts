import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import type { Client } from "../../../pkg/client/client.ts"
import type { ComponentContext } from "../../../pkg/component/component.ts"
import { RESOURCES } from "../../../pkg/api/resources.ts"
import { EVENING } from "./evening.ts"
import { MORNING } from "./morning.ts"
import { NOON } from "./noon.ts"
import type { Step } from "./step.ts"

/** The seconds in which the control plane alone comes to rest before the first step, which is the step 0 of counts. */
export const START_SECONDS = 20

export const STEPS: readonly Step[] = [...MORNING, ...NOON, ...EVENING]

/** Runs steps. `wait` lets time pass; `begins` is called with the number of each step, from 1. */
export async function runDay(
  steps: readonly Step[],
  users: Client,
  wait: (seconds: number) => Promise<unknown>,
  begins: (step: number, title: string) => void,
): Promise<void> {
  await wait(START_SECONDS)
  for (const [index, { title, seconds, run }] of steps.entries()) {
    begins(index + 1, title)
    await run(users)
    await wait(seconds)
  }
}

/** Kinds whose objects are watched for who owns their fields. */
const WITNESSED = RESOURCES.filter(
  ({ verbs, kind, version, group }) =>
    (verbs as readonly string[]).includes("watch") &&
    kind !== "Event" &&
    kind !== "ComponentStatus" &&
    !(group === "autoscaling" && version === "v1"),
)

/** Collects who owns fields of objects, as lines: `deployments: kube-controller-manager Update status`. */
export function witnessOwners({ informers }: Pick<ComponentContext, "informers">): ReadonlySet<string> {
  const owners = new Set<string>()
  for (const resource of WITNESSED) {
    const see = ({ metadata }: KubeObject) => {
      for (const { manager = "", operation = "", subresource = "" } of metadata.managedFields ?? [])
        owners.add(`${resource.plural}: ${manager} ${operation} ${subresource}`.trim())
    }
    informers.of(resource).on({ added: see, updated: see, deleted: see })
  }
  return owners
}
