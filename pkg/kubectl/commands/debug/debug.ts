import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { command } from "../../command/command.ts"
import { isNotFound } from "../../errors/status-error.ts"
import { builtinMeta } from "../../patch/builtin-meta.ts"
import { strategicDiff } from "../../patch/strategic-diff.ts"
import type { Pod } from "../../polymorphic/pod.ts"
import { podHelper } from "../../polymorphic/pods-of.ts"
import type { Info } from "../../resource/info.ts"
import { goJson } from "../../rest/json.ts"
import { gvkText } from "../../rest/rest-mapper.ts"
import { attachTo } from "./attach-to.ts"
import { check } from "./check.ts"
import { readCustomProfile } from "./custom-profile.ts"
import { copyOf, nodePod, warnOfUser, withEphemeralContainer, type Debugging } from "./debug-pods.ts"
import { debugFlags } from "./flags.ts"
import { profileOf, type DebugPod } from "./profiles.ts"
import { KUBECTL_SCHEME } from "../../resource/scheme-names.ts"

/** Source: kubectl pkg/cmd/debug/debug.go. */
export const debugCommand = command({
  use: "debug (POD | TYPE[[.VERSION].GROUP]/NAME) [ -- COMMAND [args...] ]",
  noFlagsInUse: true,
  short: "Create debugging sessions for troubleshooting workloads and nodes",
  long: `
Debug pods and nodes with containers made for it. A name without a type is that of a pod.

What is made depends on what is debugged:

  *  A pod: a copy of it in which something is changed, such as the image of a container (with --copy-to).
  *  A pod: an ephemeral container in it, with tools for debugging, while it goes on running.
  *  A node: a pod in the namespaces of the node, which sees the node's files.

Note: where the whole pod has a user that is not root, some of the rights that a profile grants have no effect.`,
  example: `
# Start an ephemeral container in the pod mypod and attach to it
kubectl debug mypod -it --image=busybox

# The same for the pod in the file pod.yaml
kubectl debug -f pod.yaml -it --image=busybox

# Start an ephemeral container called debugger with an image of your own
kubectl debug --image=myproj/debug-tools -c debugger mypod

# Make a copy of mypod with a further container, and attach to that
kubectl debug mypod -it --image=busybox --copy-to=my-debugger

# Make a copy of mypod in which mycontainer runs another command
kubectl debug mypod -it --copy-to=my-debugger --container=mycontainer -- sh

# Make a copy of mypod in which all containers run busybox
kubectl debug mypod --copy-to=my-debugger --set-image=*=busybox

# Make a copy of mypod with a further container and other images
kubectl debug mypod -it --copy-to=my-debugger --image=debian --set-image=app=app:debug,sidecar=sidecar:debug

# Start a pod on a node and attach to it. It is in the node's namespaces, and sees the node's files in /host
kubectl debug node/mynode -it --image=busybox`,
  flags: debugFlags(),
  async run(invocation) {
    const { flags, changed, args, argsBeforeDash, factory, environment } = invocation
    const isSplit = argsBeforeDash >= 0 && args.length > argsBeforeDash
    const names = isSplit ? args.slice(0, argsBeforeDash) : args
    const { namespace, explicit } = await factory.namespace()
    profileOf(flags.profile)
    const custom = flags.custom === "" ? undefined : await readCustomProfile(environment.files, flags.custom)
    await factory.client()
    const debugging: Debugging = { invocation, words: isSplit ? args.slice(argsBeforeDash) : [], custom }
    await check(debugging, names)
    const attaches = flags.attach || (!changed("attach") && flags.stdin)
    const result = await factory.build({
      files: { filenames: flags.filename, kustomize: "", recursive: false },
      scheme: KUBECTL_SCHEME,
      ...(names.length === 0 ? {} : { names, defaultType: "pods" }),
      namespace,
      defaultNamespace: true,
      enforceNamespace: explicit,
    })
    await result.visit(async (info) => {
      const { pod, container } = await start(debugging, info, namespace)
      if (attaches && container !== "") await attachTo(debugging, pod, container)
    })
  },
})

interface Started {
  readonly pod: Pod
  readonly container: string
}

async function start(debugging: Debugging, info: Info, namespace: string): Promise<Started> {
  const { kind, group } = info.mapping.kind
  if (group === "" && kind === "Node") {
    const made = await nodePod(debugging, info.name)
    const helper = await podHelper(debugging.invocation.factory)
    return { pod: await helper.create(namespace, made.pod), container: made.container }
  }
  if (group !== "" || kind !== "Pod") throw new Error(`${goQuoted(gvkText(info.mapping.kind))} not supported by debug`)
  const pod = info.object as DebugPod
  return debugging.invocation.flags["copy-to"] === "" ? addContainer(debugging, pod) : createCopy(debugging, pod)
}

async function createCopy(debugging: Debugging, original: DebugPod): Promise<Started> {
  const { factory, flags } = debugging.invocation
  const made = await copyOf(debugging, original)
  await warnOfUser(debugging, made)
  const { name = "", namespace = "" } = original.metadata ?? {}
  const helper = await podHelper(factory)
  const pod = await helper.create(namespace, made.pod)
  if (flags.replace) await helper.delete(namespace, name, { gracePeriodSeconds: 0 })
  return { pod, container: made.container }
}

async function addContainer(debugging: Debugging, original: DebugPod): Promise<Started> {
  const made = await withEphemeralContainer(debugging, original)
  await warnOfUser(debugging, made)
  const { name = "", namespace = "" } = original.metadata ?? {}
  const fields = await builtinMeta({ group: "", version: "v1", kind: "Pod" })
  const patch = strategicDiff(original, made.pod, fields!, { changes: true, deletions: true, order: true })
  const helper = await podHelper(debugging.invocation.factory)
  const type = "application/strategic-merge-patch+json"
  try {
    const pod = await helper.patch(namespace, name, type, goJson(patch), { subresource: "ephemeralcontainers" })
    return { pod, container: made.container }
  } catch (err) {
    if (isNotFound(err) && (err.status.details?.name ?? "") === "")
      throw new Error(
        `ephemeral containers are disabled for this cluster (error from server: ${goQuoted(err.message)})`,
        {
          cause: err,
        },
      )
    throw err
  }
}
