import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import type { Debugging } from "./debug-pods.ts"
import { checkCustomProfile } from "./custom-profile.ts"

const DOMAIN = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
const PART = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
/** Source: the grammar of github.com/distribution/reference. */
const REFERENCE = new RegExp(
  `^(?:(?:${DOMAIN}(?:\\.${DOMAIN})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?/)?${PART}(?:/${PART})*` +
    `(?::\\w[\\w.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$`,
)

/** @throws Error for flags that do not go together. Source: kubectl pkg/cmd/debug/debug.go (Validate). */
export async function check({ invocation, words, custom }: Debugging, names: readonly string[]): Promise<void> {
  const { flags, changed, out, errOut } = invocation
  const { image, container } = flags
  const images = Object.entries(flags["set-image"])
  if (flags.attach && changed("attach") && image === "" && container === "")
    throw new Error("you must specify --container or create a new container using --image in order to attach.")
  if (flags["copy-to"] !== "") {
    if (image === "" && images.length === 0 && words.length === 0)
      throw new Error("you must specify --image, --set-image or command arguments.")
    if (words.length > 0 && container === "" && image === "")
      throw new Error("you must specify an existing container or a new image when specifying args.")
  } else {
    if (flags.replace) throw new Error("--replace may only be used with --copy-to.")
    if (flags["same-node"]) throw new Error("--same-node may only be used with --copy-to.")
    if (images.length > 0) throw new Error("--set-image may only be used with --copy-to.")
    if (image === "") throw new Error("you must specify --image when not using --copy-to.")
  }
  if (image !== "" && !REFERENCE.test(image))
    throw new Error(`invalid image name ${goQuoted(image)}: invalid reference format`)
  if (names.length === 0 && flags.filename.length === 0) throw new Error("NAME or filename is required for debug")
  const policy = flags["image-pull-policy"]
  if (!["", "Always", "IfNotPresent", "Never"].includes(policy)) throw new Error(`invalid image pull policy: ${policy}`)
  for (const [name, each] of images)
    if (!REFERENCE.test(each))
      throw new Error(`invalid image name ${goQuoted(each)} for container ${goQuoted(name)}: invalid reference format`)
  if (flags.target !== "") {
    if (flags["copy-to"] !== "")
      throw new Error("--target is incompatible with --copy-to. Use --share-processes instead.")
    if (!flags.quiet)
      await out.write(
        `Targeting container ${goQuoted(flags.target)}. If you don't see processes from this container it may be because the container runtime doesn't support this feature.\n`,
      )
  }
  if (flags.tty && !flags.stdin) throw new Error("-i/--stdin is required for containers with -t/--tty=true")
  checkCustomProfile(custom)
  if (flags.profile === "legacy")
    await errOut.write(
      '--profile=legacy is deprecated and planned to be removed in v1.39. It is recommended to specify other profile, for example "--profile=general".\n',
    )
}
