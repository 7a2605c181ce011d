import type { Factory } from "../factory/factory.ts"
import { resourceNames } from "./names.ts"
import { DIRECTIVE, type Proposals } from "./typing.ts"

/** Proposes pods, namespaces and files for the first argument of `cp`. Source: kubectl pkg/cmd/cp/cp.go. */
export async function copyArguments(factory: Factory, values: readonly string[], word: string): Promise<Proposals> {
  const words = values.length > 0 || /^[/.~]/.test(word) || word.includes(":") ? [] : await places(factory, word)
  return { words, directive: DIRECTIVE.noSpace }
}

async function places(factory: Factory, word: string): Promise<readonly string[]> {
  const slash = word.indexOf("/")
  if (slash !== -1) {
    const namespace = word.slice(0, slash)
    const pods = await resourceNames(factory, "pods", word.slice(slash + 1), namespace)
    return pods.map((pod) => `${namespace}/${pod}:`)
  }
  const namespaces = await resourceNames(factory, "namespaces", word)
  const pods = await resourceNames(factory, "pods", word)
  const found = [...namespaces.map((name) => `${name}/`), ...pods.map((name) => `${name}:`)]
  if (word === "") return [...found, "./", "/"]
  // Without any of these the shell itself proposes files.
  return found.length === 0 ? found : [...found, ...(await filesNamed(factory, word))]
}

async function filesNamed({ environment: { files, cwd } }: Factory, word: string): Promise<readonly string[]> {
  try {
    const names = (await files.list(cwd)).filter((name) => name.startsWith(word))
    return await Promise.all(
      names.map(async (name) => ((await files.stat(`${cwd}/${name}`))?.isDirectory === true ? `${name}/` : name)),
    )
  } catch {
    return []
  }
}
