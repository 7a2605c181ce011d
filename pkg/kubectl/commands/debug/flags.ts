import { boolFlag, stringFlag, stringMapFlag, stringSliceFlag } from "../../command/flag.ts"

const ONLY_COPY = "Only together with --copy-to."

/** The flags of `debug`. */
export const debugFlags = () => ({
  filename: stringSliceFlag([], "The file, folder or address of files with what to debug", { shorthand: "f" }),
  "arguments-only": boolFlag(false, "What follows -- is the arguments of the new container, and not its command."),
  attach: boolFlag(
    false,
    "Wait until the container runs, and attach to it as 'kubectl attach' does. The default is false, and true with -i/--stdin.",
  ),
  container: stringFlag("", "The name of the debugging container.", { shorthand: "c" }),
  "copy-to": stringFlag("", "Make a copy of the pod with this name."),
  replace: boolFlag(false, "With '--copy-to', delete the original pod."),
  env: stringMapFlag({}, "Environment variables of the container."),
  image: stringFlag("", "The image of the debugging container."),
  "keep-labels": boolFlag(false, `Keep the pod's labels. ${ONLY_COPY}`),
  "keep-annotations": boolFlag(false, `Keep the pod's annotations. ${ONLY_COPY}`),
  "keep-liveness": boolFlag(false, `Keep the pod's liveness probes. ${ONLY_COPY}`),
  "keep-readiness": boolFlag(false, `Keep the pod's readiness probes. ${ONLY_COPY}`),
  "keep-startup": boolFlag(false, `Keep the pod's startup probes. ${ONLY_COPY}`),
  "keep-init-containers": boolFlag(true, `Run the pod's init containers. ${ONLY_COPY}`),
  "set-image": stringMapFlag(
    {},
    "With '--copy-to', the images that containers get, as name=image, as 'kubectl set image' has them.",
  ),
  "image-pull-policy": stringFlag("", "The pull policy of the container's image. The server chooses without it."),
  stdin: boolFlag(false, "Keep the input of the container open, even if nobody is attached.", { shorthand: "i" }),
  quiet: boolFlag(false, "Print no messages beside what is asked for.", { shorthand: "q" }),
  "same-node": boolFlag(false, "With '--copy-to', run the copy on the same node."),
  "share-processes": boolFlag(true, "With '--copy-to', the containers of the copy see each other's processes."),
  target: stringFlag("", "See the processes of this container in an ephemeral container."),
  tty: boolFlag(false, "Give the debugging container a terminal.", { shorthand: "t" }),
  profile: stringFlag("general", 'One of "general", "baseline", "restricted", "netadmin" or "sysadmin".'),
  custom: stringFlag(
    "",
    "A file in JSON or YAML with fields of a container that are merged into those of the profile.",
  ),
})
