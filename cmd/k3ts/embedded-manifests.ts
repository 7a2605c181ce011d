import dns from "../../manifests/dns.yaml" with { type: "text" }
import type { ServerFlags } from "./server-flags.ts"

/** The manifests that are part of the program and not disabled, with their parameters filled in: file name → text. */
export function embeddedManifests(
  { disable, "disable-agent": disableAgent }: Pick<ServerFlags, "disable" | "disable-agent">,
  parameters: Readonly<Record<string, string>>,
): ReadonlyMap<string, string> {
  const manifests = new Map<string, string>()
  // Where no DNS answers, pods must not be sent to it.
  if (!disable.includes("dns") && !disableAgent) manifests.set("dns.yaml", dns as string)
  return new Map([...manifests].map(([name, text]) => [name, fillIn(text, parameters)]))
}

/** Replaces each `%{NAME}%`. @throws Error for one that has no value */
const fillIn = (text: string, parameters: Readonly<Record<string, string>>): string =>
  text.replace(/%\{(\w+)\}%/g, (_, name: string) => {
    const value = parameters[name]
    if (value === undefined) throw new Error(`A manifest asks for the parameter ${name}, which has no value`)
    return value
  })
