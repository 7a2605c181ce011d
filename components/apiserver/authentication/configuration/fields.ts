/**
 * The file of `--authentication-config`: who may sign in with JSON web tokens, and what requests without credentials
 * may reach. Source: apiserver pkg/apis/apiserver/v1/types.go, KEP-3331.
 */
import { e, f, message, type ObjectOf } from "../../../../pkg/apimachinery/fields.ts"

const Issuer = message("apiserver.v1.Issuer", "Who signs the tokens, and for whom.", {
  url: f.string(1, "The issuer's URL, which is the claim `iss` of its tokens.").ownRule().required(),
  discoveryURL: f.string(2, "Where its OpenID configuration is, if not below the URL."),
  certificateAuthority: f.string(3, "PEM of the authorities of its certificate; those of the system unless given."),
  audiences: f.list(4, e.string, "The audiences of which a token must have one."),
  audienceMatchPolicy: f.string(5, "How the audiences are compared: MatchAny."),
  egressSelectorType: f.string(6, "Through which network it is reached: controlplane or cluster."),
})

const ClaimValidationRule = message("apiserver.v1.ClaimValidationRule", "A rule that the claims must follow.", {
  claim: f.string(1, "The claim that must have the value `requiredValue`."),
  requiredValue: f.string(2, "The value of that claim."),
  expression: f.string(3, "An expression on `claims` that must be true."),
  message: f.string(4, "What is said when it is not."),
})

const PrefixedClaimOrExpression = message(
  "apiserver.v1.PrefixedClaimOrExpression",
  "Where a name comes from: a claim with a prefix, or an expression.",
  {
    claim: f.string(1, "The claim."),
    prefix: f.string(2, "What is put before its value.").pointer(),
    expression: f.string(3, "An expression on `claims` that is a string, or for groups a list of strings."),
  },
)

const ClaimOrExpression = message("apiserver.v1.ClaimOrExpression", "Where the uid comes from.", {
  claim: f.string(1, "The claim."),
  expression: f.string(2, "An expression on `claims` that is a string."),
})

const ExtraMapping = message("apiserver.v1.ExtraMapping", "One more attribute of the user.", {
  key: f.string(1, "Its name, with a domain and in lower case.").ownRule().required(),
  valueExpression: f.string(2, "An expression on `claims` that is a string or a list of strings.").ownRule().required(),
})

const ClaimMappings = message("apiserver.v1.ClaimMappings", "How claims become a user.", {
  username: f.message(1, PrefixedClaimOrExpression, "The name.").always(),
  groups: f.message(2, PrefixedClaimOrExpression, "The groups.").always(),
  uid: f.message(3, ClaimOrExpression, "The uid.").always(),
  extra: f.list(4, ExtraMapping, "Further attributes."),
})

const UserValidationRule = message("apiserver.v1.UserValidationRule", "A rule that the user must follow.", {
  expression: f.string(1, "An expression on `user` that must be true.").ownRule().required(),
  message: f.string(2, "What is said when it is not."),
})

const JWTAuthenticator = message("apiserver.v1.JWTAuthenticator", "One issuer of tokens.", {
  issuer: f.message(1, Issuer, "Who signs the tokens.").always(),
  claimValidationRules: f.list(2, ClaimValidationRule, "What the claims must be."),
  claimMappings: f.message(3, ClaimMappings, "How claims become a user.").always(),
  userValidationRules: f.list(4, UserValidationRule, "What the user must be."),
})
export interface JWTAuthenticator extends ObjectOf<typeof JWTAuthenticator> {}

const AnonymousAuthCondition = message("apiserver.v1.AnonymousAuthCondition", "Where anonymous requests may go.", {
  path: f.string(1, "The path, exactly.").ownRule().required(),
})

const AnonymousAuthConfig = message("apiserver.v1.AnonymousAuthConfig", "What requests without credentials may do.", {
  enabled: f.bool(1, "Whether there are anonymous requests.").printZero(),
  conditions: f.list(2, AnonymousAuthCondition, "The paths of anonymous requests; all paths unless given."),
})
export interface AnonymousAuthConfig extends ObjectOf<typeof AnonymousAuthConfig> {}

export const AuthenticationConfiguration = message(
  "apiserver.v1.AuthenticationConfiguration",
  "Who may sign in, and how.",
  {
    jwt: f.list(1, JWTAuthenticator, "The issuers of tokens."),
    anonymous: f.message(2, AnonymousAuthConfig, "Requests without credentials."),
  },
)
export interface AuthenticationConfiguration extends ObjectOf<typeof AuthenticationConfiguration> {}
