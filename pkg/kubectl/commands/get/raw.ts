import type { GetInvocation } from "./get-flags.ts"

/** Prints the answer to a request for a path. Source: kubectl pkg/rawhttp/raw.go. */
export async function getRaw({ flags, factory, out }: GetInvocation): Promise<void> {
  if (flags.watch || flags["watch-only"] || flags.selector !== "")
    throw new Error("--raw may not be specified with other flags that filter the server request or alter the output")
  if (flags.output !== "") throw new Error("--raw and --output are mutually exclusive")
  if (!flags.raw.startsWith("/") && !URL.canParse(flags.raw))
    throw new Error(`--raw must be a valid URL path: parse ${JSON.stringify(flags.raw)}: invalid URI for request`)
  const client = await factory.client()
  const path = flags.raw.startsWith("/") ? flags.raw : new URL(flags.raw).pathname + new URL(flags.raw).search
  const response = await client.stream({ method: "GET", path, accept: "application/json, */*" })
  for await (const part of response.body) await out.write(part)
}
