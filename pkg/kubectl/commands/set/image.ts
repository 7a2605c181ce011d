import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { command } from "../../command/command.ts"
import { selectorFlag } from "../../command/shared-flags.ts"
import { throwAggregate } from "../../errors/aggregate.ts"
import type { Container } from "../../polymorphic/pod.ts"
import { resourcesAndPairs } from "../metadata/pairs.ts"
import { recorded, recordFlag } from "../record.ts"
import { begin } from "./begin.ts"
import { changeAll, found, LOCAL_AND_SERVER, setFlags } from "./change.ts"
import { withPodSpec } from "./pod-templates.ts"

/** Source: kubectl pkg/cmd/set/set_image.go. */
export const setImageCommand = command({
  use: "image (-f FILENAME | TYPE NAME) CONTAINER_NAME_1=CONTAINER_IMAGE_1 ... CONTAINER_NAME_N=CONTAINER_IMAGE_N",
  noFlagsInUse: true,
  short: "Update the image of a pod template",
  long: `
Update the images of containers of resources.

 Possible resources include (case insensitive):

   pod (po), replicationcontroller (rc), deployment (deploy), daemonset (ds), statefulset (sts), cronjob (cj), replicaset (rs)`,
  example: `
# Give the container nginx of a deployment the image nginx:1.9.1, and busybox the image busybox
kubectl set image deployment/nginx busybox=busybox nginx=nginx:1.9.1

# Give the container nginx of all deployments and replication controllers the image nginx:1.9.1
kubectl set image deployments,rc nginx=nginx:1.9.1 --all

# Give all containers of the daemon set abc the image nginx:1.9.1
kubectl set image daemonset abc *=nginx:1.9.1

# Print what a file becomes, in YAML, and do not ask the server
kubectl set image -f path/to/file.yaml nginx=nginx:1.9.1 --local -o yaml`,
  flags: { ...setFlags(), ...recordFlag(), ...selectorFlag() },
  async run(invocation) {
    const { flags: values, args } = invocation
    const { dryRun, printer } = await begin(invocation, values, "image updated")
    const { resources, pairs } = resourcesAndPairs(args, "image")
    const images = imagesOf(pairs)
    const { infos, error } = await (await found(invocation, values, resources)).infosAndError()
    if (error !== undefined) throw error
    const problems: string[] = []
    if (values.all && values.selector !== "") problems.push("cannot set --all and --selector at the same time")
    if (resources.length === 0 && values.filename.length === 0 && values.kustomize === "")
      problems.push("one or more resources must be specified as <resource> <name> or <resource>/<name>")
    if (images.size === 0) problems.push("at least one image update is required")
    else if (images.size > 1 && images.has("*"))
      problems.push(
        "all containers are already specified by *, but saw more than one container_name=container_image pairs",
      )
    if (values.local && dryRun === "server") problems.push(LOCAL_AND_SERVER)
    throwAggregate(problems.map((problem) => new Error(problem)))
    const errors: unknown[] = []
    await changeAll(invocation, values, infos, {
      printer,
      dryRun,
      errors,
      failure: "failed to patch image update to pod template:",
      change: (object) =>
        recorded(
          withPodSpec(object, (spec) => {
            const all = [...(spec.initContainers ?? []), ...(spec.containers ?? [])]
            for (const name of images.keys())
              if (name !== "*" && !all.some((container) => container.name === name))
                errors.push(new Error(`error: unable to find container named ${goQuoted(name)}`))
            const imaged = (containers: readonly Container[]) =>
              containers.map((container) => {
                const image = images.get("*") ?? images.get(container.name)
                return image === undefined ? container : { ...container, image }
              })
            return {
              ...spec,
              ...(spec.initContainers === undefined ? {} : { initContainers: imaged(spec.initContainers) }),
              containers: imaged(spec.containers ?? []),
            }
          }),
          invocation,
        ),
    })
  },
})

function imagesOf(pairs: readonly string[]): ReadonlyMap<string, string> {
  const invalid = pairs.filter((pair) => pair.indexOf("=") < 1)
  if (invalid.length > 0) throw new Error(`invalid image format: ${invalid.join(", ")}`)
  return new Map(
    pairs.map((pair) => {
      const at = pair.indexOf("=")
      return [pair.slice(0, at), pair.slice(at + 1)] as const
    }),
  )
}
