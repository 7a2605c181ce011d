import { boolFlag, int32Flag, stringFlag } from "../../command/flag.ts"
import { filled, generator, metadataOf } from "./generator.ts"

/** Source: kubectl pkg/cmd/create/create_priorityclass.go. */
export const createPriorityClassCommand = generator({
  use: "priorityclass NAME --value=VALUE --global-default=BOOL [--dry-run=server|client|none]",
  aliases: ["pc"],
  short: "Create a priority class with the specified name",
  long: "Create a priority class with the specified name, value, and, if you like, description, preemption policy, and whether it is the default.",
  example: `
# Create a priority class called high-priority
kubectl create priorityclass high-priority --value=1000 --description="high priority"

# Create the one that pods have which name none
kubectl create priorityclass default-priority --value=1000 --global-default=true --description="default priority"

# Create one whose pods evict no others
kubectl create priorityclass high-priority --value=1000 --description="high priority" --preemption-policy="Never"`,
  flags: {
    value: int32Flag(0, "The value of the priority class."),
    "global-default": boolFlag(false, "Whether pods that name no priority class get this one."),
    description: stringFlag("", "A text that says when this priority class is meant to be used."),
    "preemption-policy": stringFlag("PreemptLowerPriority", "Whether pods of lower priority are evicted for these."),
  },
  apiVersion: "scheduling.k8s.io/v1",
  kind: "PriorityClass",
  resource: "priorityclasses",
  clusterScoped: true,
  failure: "failed to create priorityclass:",
  make: ({ name, flags }) => ({
    metadata: metadataOf({ name }),
    value: flags.value,
    ...(flags["global-default"] ? { globalDefault: true } : {}),
    ...filled("description", flags.description),
    preemptionPolicy: flags["preemption-policy"],
  }),
})
