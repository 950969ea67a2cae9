/* Fetches a tensor from an image, as the checkpoint had it (any but a kernel):
 * fetch IMAGE NAME > bytes. Written from FORMAT.md: each tensor is a line. */
#define _FILE_OFFSET_BITS 64
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *at(const char *line, const char *key) {
    const char *found = strstr(line, key);
    if (!found) { fprintf(stderr, "image.json has no %s\n", key); exit(1); }
    return found + strlen(key);
}
static long long number(const char *line, const char *key) { return atoll(at(line, key)); }
static long long element(const char *line, const char *key, long long i) {
    const char *p = at(line, key);
    while (i--) p = strchr(p, ',') + 1;
    return atoll(p + strspn(p, "["));
}
int main(int argc, char **argv) {
    static char path[4096], name[256], block[1 << 26];
    if (argc != 3) return 2;
    snprintf(path, sizeof path, "%s/image.json", argv[1]);
    FILE *json = fopen(path, "rb");
    if (!json) { perror(path); return 1; }
    fseeko(json, 0, SEEK_END);
    size_t size = ftello(json);
    char *text = calloc(size + 1, 1);
    rewind(json);
    if (fread(text, 1, size, json) != size) return 1;
    long long channels = atoll(at(text, "\"layout\":\"")), line_bytes = atoll(at(at(text, "\"layout\":\""), "x"));
    snprintf(name, sizeof name, "\n{\"name\":\"%s\",", argv[2]);
    const char *t = at(text, name);
    long long rows = number(t, "\"rows\":"), tile_rows = number(t, "\"tile_rows\":");
    int striped = *at(t, "\"striped\":") == 't';
    long long row_bytes = number(t, "\"row_bytes\":"), slot = striped ? number(t, "\"slot_bytes\":") : row_bytes;
    long long bytes = striped ? number(t, "\"block_bytes\":") : row_bytes; /* of what lies together */
    if (*at(t, "\"kernel\":") == 't') { fprintf(stderr, "a kernel is stored transposed\n"); return 1; }
    for (long long row = 0; row < rows; row++) {
        long long tile = row / tile_rows, w = row % tile_rows, left = rows - tile * tile_rows;
        long long n = left < tile_rows ? left : tile_rows, c = element(t, "\"order\":", tile % channels);
        long long line = element(t, "\"first_line\":", c) + tile / channels * number(t, "\"tile_lines\":");
        snprintf(path, sizeof path, "%s/channel-%lld.bin", argv[1], c);
        FILE *channel = fopen(path, "rb");
        for (long long b = 0; b < row_bytes / bytes; b++) {
            if (!channel || fseeko(channel, line * line_bytes + (b * n + w) * slot, SEEK_SET)) return 1;
            if (fread(block, 1, bytes, channel) != (size_t)bytes) return 1;
            fwrite(block, 1, bytes, stdout);
        }
        fclose(channel);
    }
    return 0;
}
