import { finding, type Finding } from "../answer.ts"
import type { Ward } from "../doctor.ts"

/** How clients of Kubernetes say that the server has no such kind. */
const NO_KIND = /no matches for kind "(\w+)" in (?:version|group) "([\w./-]+)"/

/**
 * Returns that a program wants a kind which the server does not have; undefined where a line does not say so, and where
 * the server has it by now.
 */
export async function missingKindFinding(
  container: string,
  line: string,
  { reader }: Ward,
): Promise<Finding | undefined> {
  // Logs in JSON escape the quotes.
  const [, kind = "", of = ""] = NO_KIND.exec(line.replaceAll('\\"', '"')) ?? []
  if (kind === "") return undefined
  const served = await reader.served().catch(() => undefined)
  const group = of.split("/")[0]!
  const alike = served?.filter((one) => one.kind === kind && one.apiVersion.split("/")[0] === group)
  if (alike === undefined || alike.some(({ apiVersion }) => apiVersion === of || !of.includes("/"))) return undefined
  const versions = alike.map(({ apiVersion }) => apiVersion)
  return finding(
    "kind-not-served",
    `the program of container ${container} wants the kind ${kind} of ${of}, which the server does not have` +
      (versions.length === 0 ? "" : `, but ${versions.join(" and ")}`),
    {
      evidence: [`log of ${container}: ${line.trim()}`],
      hints: [
        versions.length === 0
          ? "install the CustomResourceDefinition of the kind, before the program"
          : "use a version of the program that knows this one, or a definition that serves both",
      ],
    },
  )
}
