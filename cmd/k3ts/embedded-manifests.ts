import dns from "../../manifests/dns.yaml" with { type: "text" }
import type { ServerFlags } from "./server-flags.ts"

/**
 * Returns the manifests that are part of the program and not disabled, with their parameters replaced: file name →
 * text.
 */
export function embeddedManifests(
  { disable, "disable-agent": disableAgent }: Pick<ServerFlags, "disable" | "disable-agent">,
  parameters: Readonly<Record<string, string>>,
): ReadonlyMap<string, string> {
  const manifests = new Map<string, string>()
  // Without a DNS server, pods must not be configured to use it.
  if (!disable.includes("dns") && !disableAgent) manifests.set("dns.yaml", dns as string)
  return new Map([...manifests].map(([name, text]) => [name, fillIn(text, parameters)]))
}

/** Replaces each `%{NAME}%`. @throws Error for one without a value */
const fillIn = (text: string, parameters: Readonly<Record<string, string>>): string =>
  text.replace(/%\{(\w+)\}%/g, (_, name: string) => {
    const value = parameters[name]
    if (value === undefined) throw new Error(`A manifest asks for the parameter ${name}, which has no value`)
    return value
  })
