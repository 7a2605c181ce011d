import { command } from "../../command/command.ts"
import { boolFlag, intFlag, stringFlag } from "../../command/flag.ts"
import { copyFromPod } from "./copy-from-pod.ts"
import { copyToPod } from "./copy-to-pod.ts"
import { parseFileSpec } from "./file-spec.ts"

/** Source: kubectl pkg/cmd/cp/cp.go. */
export const cpCommand = command({
  use: "cp <file-spec-src> <file-spec-dest>",
  noFlagsInUse: true,
  short: "Copy files and folders to and from containers",
  long: "Copy files and folders to and from containers.",
  example: `
# Note: the image of the container must have the program 'tar'. Without it 'kubectl cp' fails.
# Where links, patterns or the modes of files matter, use 'kubectl exec' with tar yourself.

# Copy /tmp/foo of this machine to /tmp/bar of a pod in the namespace <some-namespace>
tar cf - /tmp/foo | kubectl exec -i -n <some-namespace> <some-pod> -- tar xf - -C /tmp/bar

# Copy /tmp/foo of a pod to /tmp/bar of this machine
kubectl exec -n <some-namespace> <some-pod> -- tar cf - /tmp/foo | tar xf - -C /tmp/bar

# Copy the folder /tmp/foo_dir to /tmp/bar_dir of a pod in the default namespace
kubectl cp /tmp/foo_dir <some-pod>:/tmp/bar_dir

# Copy the file /tmp/foo to /tmp/bar in one container of a pod
kubectl cp /tmp/foo <some-pod>:/tmp/bar -c <specific-container>

# Copy the file /tmp/foo to /tmp/bar of a pod in the namespace <some-namespace>
kubectl cp /tmp/foo <some-namespace>/<some-pod>:/tmp/bar

# Copy /tmp/foo of a pod to /tmp/bar of this machine
kubectl cp <some-namespace>/<some-pod>:/tmp/foo /tmp/bar`,
  flags: {
    container: stringFlag(
      "",
      "The container. Without it the one of the annotation kubectl.kubernetes.io/default-container is used, or the first one of the pod",
      { shorthand: "c" },
    ),
    "no-preserve": boolFlag(false, "Do not keep the owners and permissions of the files in the container"),
    retries: intFlag(
      0,
      "How often to go on with a copy from a container that broke off. 0 for never, and less than 0 for always.",
    ),
  },
  async run(invocation) {
    const { args, flags, factory, out, errOut, path } = invocation
    const { namespace } = await factory.namespace()
    await factory.client()
    const [from = "", to = ""] = args
    if (args.length !== 2) throw new Error("source and destination are required")
    const source = parseFileSpec(from)
    const target = parseFileSpec(to)
    if (source.pod !== "" && target.pod !== "") throw new Error("one of src or dest must be a local file specification")
    if (source.path === "" || target.path === "") throw new Error("filepath can not be empty")
    const { container } = flags
    const copy = { factory, source, target, namespace, container, out, errOut }
    if (source.pod !== "") await copyFromPod({ ...copy, retries: flags.retries, program: path.replace(/ cp$/, "") })
    else if (target.pod !== "") await copyToPod({ ...copy, preserve: !flags["no-preserve"] })
    else throw new Error("one of src or dest must be a remote file specification")
  },
})
