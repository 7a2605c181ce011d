import { checkRaw, rawRequest } from "../../rest/raw.ts"
import type { GetInvocation } from "./get-flags.ts"

/** Prints the answer to a request for a path. */
export async function getRaw({ flags, factory, out }: GetInvocation): Promise<void> {
  if (flags.watch || flags["watch-only"] || flags.selector !== "")
    throw new Error("--raw may not be specified with other flags that filter the server request or alter the output")
  if (flags.output !== "") throw new Error("--raw and --output are mutually exclusive")
  checkRaw(flags.raw)
  await rawRequest(factory, out, { method: "GET", raw: flags.raw })
}
