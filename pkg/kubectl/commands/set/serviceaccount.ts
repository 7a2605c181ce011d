import { command } from "../../command/command.ts"
import { recorded, recordFlag } from "../record.ts"
import { begin } from "./begin.ts"
import { changeAll, found, LOCAL_AND_SERVER, setFlags } from "./change.ts"
import { withPodSpec } from "./pod-templates.ts"

/** Source: kubectl pkg/cmd/set/set_serviceaccount.go. */
export const setServiceAccountCommand = command({
  use: "serviceaccount (-f FILENAME | TYPE NAME) SERVICE_ACCOUNT",
  noFlagsInUse: true,
  aliases: ["sa"],
  short: "Update the service account of a resource",
  long: `
Update the service account of pods.

 Possible resources include (case insensitive):

 replicationcontroller (rc), deployment (deploy), daemonset (ds), job, replicaset (rs), statefulset`,
  example: `
# Give the deployment nginx-deployment the service account serviceaccount1
kubectl set serviceaccount deployment nginx-deployment serviceaccount1

# Print what a file becomes, in YAML, and do not ask the server
kubectl set sa -f nginx-deployment.yaml serviceaccount1 --local --dry-run=client -o yaml`,
  flags: { ...setFlags(), ...recordFlag() },
  async run(invocation) {
    const { flags: values, args } = invocation
    const { dryRun, printer } = await begin(invocation, values, "serviceaccount updated")
    if (values.local && dryRun === "server") throw new Error(LOCAL_AND_SERVER)
    const name = args.at(-1)
    if (name === undefined) throw new Error("serviceaccount is required")
    const result = await found(invocation, values, args.slice(0, -1), { checksLocal: false })
    await changeAll(invocation, values, await result.infos(), {
      printer,
      dryRun,
      failure: "failed to patch ServiceAccountName",
      sendsUnchanged: true,
      change: (object) =>
        recorded(
          withPodSpec(object, (spec) => ({ ...spec, serviceAccountName: name })),
          invocation,
        ),
    })
  },
})
