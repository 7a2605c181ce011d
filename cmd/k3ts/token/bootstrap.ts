/** Commands for bootstrap tokens, by which machines join for a while. Source: k3s pkg/cli/token/token.go. */
import { stringify } from "yaml"
import { JOIN_GROUP } from "../../../components/supervisor/join-tokens.ts"
import {
  BOOTSTRAP_NAMESPACE,
  BOOTSTRAP_TOKEN,
  isBootstrapGroup,
  isTokenId,
  newBootstrapToken,
  parseBootstrapToken,
  secretOfToken,
  TOKEN_USAGES,
  tokenOfSecret,
  tokenSecretName,
  type BootstrapToken,
} from "../../../pkg/api/core/v1/secret/bootstrap-token.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { isAlreadyExists } from "../../../pkg/apimachinery/errors.ts"
import { formatTime, humanDuration } from "../../../pkg/apimachinery/scalars/time.ts"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { formatJoinToken } from "../../../components/supervisor/join-token.ts"
import { defineCommand } from "../cli/command.ts"
import { list as listFlag, oneOf, value } from "../cli/flags.ts"
import { anyText, reading, word } from "../cli/flag-type.ts"
import { UsageError } from "../cli/usage-error.ts"
import { durationIn } from "../cli/values.ts"
import { table } from "../table.ts"
import { serverCa, serverPlace, withAdminClient } from "./admin-client.ts"

const group = reading(
  (text) => (isBootstrapGroup(text) ? text : undefined),
  "must begin with system:bootstrappers: and go on in lower case letters, digits, ':' and '-'",
)
const usage = word(TOKEN_USAGES)
/** `0` or a duration, in seconds. */
const lifetime = reading(
  (text) => (text === "0" ? 0 : durationIn(text)),
  "must be a duration, as in 15m, 24h or 7d, or 0 for no end",
)

export const create = defineCommand({
  summary: "Make a bootstrap token by which agents join; the server must be running",
  details:
    "It prints the whole token, for k3ts agent --token. TOKEN is the token to create, <id>.<secret> of 6 and 16 letters and " +
    "digits; without it a random one is created. For a service account's token, see k3ts token serviceaccount.",
  flags: {
    ...serverPlace,
    description: value(anyText.default(""), "What the token is for", { placeholder: "TEXT", defaultText: "" }),
    groups: listFlag(group, "Groups of the user that the token stands for", { placeholder: "GROUP" }, [JOIN_GROUP]),
    ttl: value(lifetime.prefault("24h"), "How long it is valid; 0 for ever", {
      placeholder: "DURATION",
      defaultText: "24h",
    }),
    usages: listFlag(usage, "What the token is for", { placeholder: "USAGE", choices: TOKEN_USAGES }, [
      ...TOKEN_USAGES,
    ]),
  },
  positionals: { name: "TOKEN", min: 0, max: 1 },
  async run({ flags, args: [text], print }) {
    const parts = text === undefined ? newBootstrapToken(systemRandom) : parseBootstrapToken(text)
    if (parts === undefined)
      throw new UsageError(
        `invalid token: must be 6 and 16 lower case letters and digits with a '.' between them; ` +
          "for the token of a service account run k3ts token serviceaccount NAME",
      )
    const token: BootstrapToken = {
      ...parts,
      usages: flags.usages,
      groups: flags.groups,
      ...(flags.description === "" ? {} : { description: flags.description }),
      ...(flags.ttl === 0 ? {} : { expires: realClock.now() + flags.ttl * 1000 }),
    }
    await withAdminClient(flags, async (client) => {
      try {
        await client.create(Secret, secretOfToken(token))
      } catch (err) {
        if (isAlreadyExists(err)) throw new Error(`a token with id "${token.id}" already exists`, { cause: err })
        throw err
      }
    })
    print(`${formatJoinToken(serverCa(flags), { bootstrapToken: parts })}\n`)
  },
})

export const generate = defineCommand({
  summary: "Print a random bootstrap token, without creating it",
  flags: {},
  run({ print }) {
    const { id, secret } = newBootstrapToken(systemRandom)
    print(`${id}.${secret}\n`)
    return Promise.resolve(0)
  },
})

export const list = defineCommand({
  summary: "List the bootstrap tokens; the server must be running",
  flags: { ...serverPlace, output: oneOf(["text", "json", "yaml"], "text", "Form of the output", { short: "o" }) },
  async run({ flags, print }) {
    const { items } = await withAdminClient(flags, (client) =>
      client.list(Secret, { namespace: BOOTSTRAP_NAMESPACE, fieldSelector: `type=${BOOTSTRAP_TOKEN}` }),
    )
    const tokens = items.flatMap((secret) => tokenOfSecret(secret) ?? [])
    const now = realClock.now()
    if (flags.output === "text")
      print(
        table(
          ["TOKEN", "TTL", "EXPIRES", "USAGES", "DESCRIPTION", "EXTRA GROUPS"],
          tokens.map((token) => rowOf(token, now)),
        ),
      )
    else {
      const shown = tokens.map(withoutSecret)
      print(flags.output === "json" ? `${JSON.stringify(shown, undefined, 2)}\n` : stringify(shown))
    }
  },
})

function rowOf({ id, expires, usages, description, groups }: BootstrapToken, now: number): readonly string[] {
  const end = expires === undefined ? ["<forever>", "<never>"] : [humanDuration(expires - now), formatTime(expires)]
  return [id, ...end, orNone(usages), orNone(description === undefined ? [] : [description]), orNone(groups)]
}

const orNone = (texts: readonly string[]): string => (texts.length === 0 ? "<none>" : texts.join(","))

const withoutSecret = ({ id, expires, usages, description, groups }: BootstrapToken): object => ({
  id,
  ...(description === undefined ? {} : { description }),
  ...(expires === undefined ? {} : { expires: formatTime(expires) }),
  usages,
  groups,
})

export const remove = defineCommand({
  summary: "Delete bootstrap tokens; the server must be running",
  flags: serverPlace,
  positionals: { name: "TOKEN|ID", min: 1, max: 1000 },
  async run({ flags, args, print }) {
    const ids = args.map((text, i) => {
      const id = isTokenId(text) ? text : parseBootstrapToken(text)?.id
      if (id === undefined)
        throw new UsageError(
          `argument ${i + 1} is no token: must be the token, or its first part of 6 letters and digits`,
        )
      return id
    })
    await withAdminClient(flags, async (client) => {
      for (const id of ids) {
        await client.delete(Secret, { namespace: BOOTSTRAP_NAMESPACE, name: tokenSecretName(id) })
        print(`bootstrap token "${id}" deleted\n`)
      }
    })
  },
})
